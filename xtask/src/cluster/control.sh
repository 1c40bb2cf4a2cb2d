#!/usr/bin/env bash
# The control plane of the cluster: etcd, API server, controllers and scheduler.
#
#   control.sh FOLDER ADDRESS
#
# It is the first process of a PID namespace, so that what it starts ends with it, and it ends with the first
# that does.
set -eu
cluster=$1 address=$2
folder=$cluster/control
etcd=http://127.0.0.1:23790

# What the others write is only read.
start() {
    "$@" >"$folder/$1.log" 2>&1 &
}

start etcd --data-dir="$folder/etcd" --listen-client-urls=$etcd --advertise-client-urls=$etcd \
    --listen-peer-urls=http://127.0.0.1:23800 --initial-advertise-peer-urls=http://127.0.0.1:23800 \
    --initial-cluster=default=http://127.0.0.1:23800
start kube-apiserver --etcd-servers=$etcd --bind-address="$address" --advertise-address="$address" \
    --cert-dir="$folder/pki" --token-auth-file="$folder/tokens.csv" --authorization-mode=Node,RBAC \
    --service-cluster-ip-range=10.96.0.0/16 --allow-privileged=true \
    --service-account-issuer=https://kubernetes.default.svc \
    --service-account-key-file="$folder/service-accounts.pem" \
    --service-account-signing-key-file="$folder/service-accounts.pem" \
    --kubelet-preferred-address-types=InternalIP
until kubectl --kubeconfig="$cluster/admin.json" get --raw=/readyz; do
    # Without the API server there is nothing to wait for.
    [ "$(jobs -r | wc -l)" = 2 ]
    sleep 0.3
done >"$folder/kubectl.log" 2>&1
start kube-controller-manager --kubeconfig="$folder/controllers.json" --use-service-account-credentials \
    --service-account-private-key-file="$folder/service-accounts.pem" --root-ca-file="$folder/pki/apiserver.crt" \
    --leader-elect=false --bind-address=127.0.0.1
start kube-scheduler --kubeconfig="$folder/scheduler.json" --leader-elect=false --bind-address=127.0.0.1
wait -n
