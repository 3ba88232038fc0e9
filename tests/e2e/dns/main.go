// CoreDNS with the six plugins that a cluster's DNS needs: the others would bring the clients of every cloud.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/template"
)

func main() {
	// In the order in which they see a question.
	dnsserver.Directives = []string{"errors", "health", "ready", "cache", "template", "kubernetes"}
	coremain.Run()
}
