// Reads a JSON list of PromQL queries and writes, for each, what is wrong with it or what it asks for.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// Asked are labels that a query expects on the series of some metrics.
type Asked struct {
	Metrics []string `json:"metrics"`
	Labels  []string `json:"labels"`
}

// Answer is about one query.
type Answer struct {
	Error string  `json:"error"`
	Asked []Asked `json:"asked"`
}

func main() {
	var queries []string
	if err := json.NewDecoder(os.Stdin).Decode(&queries); err != nil {
		fmt.Fprintln(os.Stderr, "a JSON list of queries is expected:", err)
		os.Exit(2)
	}
	answers := make([]Answer, len(queries))
	for i, query := range queries {
		answers[i] = answer(query)
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answer(query string) Answer {
	root, err := parser.ParseExpr(query)
	if err != nil {
		return Answer{Error: err.Error()}
	}
	asked := []Asked{}
	parser.Inspect(root, func(node parser.Node, _ []parser.Node) error {
		switch node := node.(type) {
		case *parser.VectorSelector:
			asked = append(asked, Asked{metrics(node), matched(node)})
		case *parser.AggregateExpr:
			asked = append(asked, Asked{metrics(node), node.Grouping})
		case *parser.BinaryExpr:
			if node.VectorMatching != nil {
				asked = append(asked, Asked{metrics(node), node.VectorMatching.MatchingLabels})
			}
		}
		return nil
	})
	return Answer{Asked: asked}
}

func metrics(node parser.Node) []string {
	names := []string{}
	parser.Inspect(node, func(node parser.Node, _ []parser.Node) error {
		if selector, is := node.(*parser.VectorSelector); is {
			names = append(names, selector.Name)
		}
		return nil
	})
	return names
}

func matched(selector *parser.VectorSelector) []string {
	names := []string{}
	for _, matcher := range selector.LabelMatchers {
		if matcher.Name != labels.MetricName {
			names = append(names, matcher.Name)
		}
	}
	return names
}
