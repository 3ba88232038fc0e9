#!/usr/bin/env bash
# Process 1 of the node: makes its own view of the machine, then reaps orphans until it is killed.
#   node.sh FOLDER CGROUP [PACKAGES]
set -euo pipefail
folder=$1 cgroup=$2 packages=${3-}

# Nothing that is mounted from here on is seen outside; pods see what the kubelet mounts for them.
mount --make-rprivate /
mount --make-rshared /
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
[ -z "$packages" ] || mount -t overlay overlay -o "lowerdir=$packages/usr:/usr" /usr

# Some paths are fixed in the kubelet and in the CNI plugins: what they write there goes to the folder.
mkdir -p "$folder"/var/{lib,work,log} "$folder/bin"
mount -t overlay overlay -o "lowerdir=/var/lib,upperdir=$folder/var/lib,workdir=$folder/var/work" /var/lib
mkdir -p /var/lib/kubelet /var/lib/cni
mount --bind "$folder/var/log" /var/log

# Debian makes these links when it installs the package.
for program in {iptables,ip6tables}{,-save,-restore}; do
    type -P "$program" > /dev/null || ln -sf /usr/sbin/xtables-nft-multi "$folder/bin/$program"
done

# The kubelet sets these for the whole machine: it may believe that it did.
for setting in vm/{overcommit_memory,panic_on_oom} kernel/{panic,panic_on_oops} kernel/keys/root_max{keys,bytes}; do
    copy=/run/sysctl/$setting
    mkdir -p "$(dirname "$copy")"
    cat "/proc/sys/$setting" > "$copy"
    mount --bind "$copy" "/proc/sys/$setting"
done

hierarchies=(/sys/fs/cgroup/*/)
[ ! -e /sys/fs/cgroup/cgroup.controllers ] || hierarchies=(/sys/fs/cgroup/) # version 2 has only one
for hierarchy in "${hierarchies[@]}"; do
    mkdir -p "$hierarchy$cgroup"
    for kind in cpus mems; do # a cpuset starts with none
        [ ! -e "${hierarchy}cpuset.$kind" ] || cat "${hierarchy}cpuset.$kind" > "$hierarchy$cgroup/cpuset.$kind"
    done
done

touch /run/booted
while true; do sleep 3600; done
