#!/usr/bin/env bash
# A node of the cluster: containerd, kubelet and kube-proxy.
#
#   node.sh NAME FOLDER ADDRESS PODS
#
# PODS is the range of its pods' addresses. It is the first process of a PID namespace, with mounts and a network
# of its own, so that what it starts and mounts ends with it, and it ends with the first that does.
set -eu
name=$1 cluster=$2 address=$3 pods=$4
folder=$cluster/$name
socket=$folder/containerd.sock

# The kubelet wants its mounts shared. Where its programs have fixed folders, they must not be the machine's.
mount --make-rshared /
for of_node in /run /var/lib /var/log; do
    mount -t tmpfs -o mode=755 "windage-$name" "$of_node"
done
mkdir -p /run/netns
sysctl --quiet --write net.ipv4.ip_forward=1

for controller in /sys/fs/cgroup/*/; do
    case $controller in */unified/) continue ;; esac
    mkdir -p "$controller/windage-$name"
done
for file in cpuset.cpus cpuset.mems; do
    cat "/sys/fs/cgroup/cpuset/$file" >"/sys/fs/cgroup/cpuset/windage-$name/$file"
done

mkdir -p "$folder/cni"
cat >"$folder/cni/10-pods.conflist" <<CNI
{
    "cniVersion": "1.0.0",
    "name": "pods",
    "plugins": [{
        "type": "ptp",
        "ipam": { "type": "host-local", "ranges": [[{ "subnet": "$pods" }]], "routes": [{ "dst": "0.0.0.0/0" }] }
    }]
}
CNI
# Without CAP_SYS_RESOURCE no process may be made less likely to be killed for memory.
cat >"$folder/containerd.toml" <<CONTAINERD
version = 2
root = "$folder/containerd"
[grpc]
address = "$socket"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "localhost/pause:lab"
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "$folder/cni"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
CONTAINERD
cat >"$folder/kubelet.yaml" <<KUBELET
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $address
authentication: { anonymous: { enabled: true }, webhook: { enabled: false } }
authorization: { mode: AlwaysAllow }
containerRuntimeEndpoint: unix://$socket
cgroupDriver: cgroupfs
cgroupRoot: /windage-$name
failCgroupV1: false
enforceNodeAllocatable: []
oomScoreAdj: 0
failSwapOn: false
makeIPTablesUtilChains: false
resolvConf: ""
healthzBindAddress: 127.0.0.1
imageGCHighThresholdPercent: 100
evictionHard: { memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1% }
KUBELET

start() {
    "$@" >"$folder/$1.log" 2>&1 &
}

start containerd --config="$folder/containerd.toml"
until ctr --address="$socket" version; do
    [ "$(jobs -r | wc -l)" = 1 ]
    sleep 0.2
done >"$folder/ctr.log" 2>&1
for image in "$cluster"/*.tar; do
    ctr --address="$socket" --namespace=k8s.io images import "$image"
done >>"$folder/ctr.log" 2>&1
start kubelet --config="$folder/kubelet.yaml" --kubeconfig="$folder/kubelet.json" --hostname-override="$name" \
    --node-ip="$address" --root-dir="$folder/kubelet" --cert-dir="$folder/pki"
# Limits of connection tracking belong to the machine.
start kube-proxy --kubeconfig="$folder/proxy.json" --hostname-override="$name" --proxy-mode=nftables \
    --cluster-cidr=10.244.0.0/16 --conntrack-max-per-core=0 --conntrack-tcp-timeout-established=0 \
    --conntrack-tcp-timeout-close-wait=0 --healthz-bind-address=127.0.0.1:10256
wait -n
