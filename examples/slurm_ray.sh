#!/usr/bin/env bash
# The tables on the nodes of a Slurm allocation: sbatch examples/slurm_ray.sh [options of `fsgc tables run`]
#
# Starts Ray on every node, on the private address of the first one, computes, and stops Ray again, however it ends.
# Submit it from the project's root, in the environment that has fsgc and Ray, on a file system that all nodes see.
#SBATCH --job-name=fsgc-tables
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=12:00:00
#SBATCH --signal=B:TERM@120

set -euo pipefail

port="${FSGC_RAY_PORT:-6379}"
patience="${FSGC_RAY_PATIENCE:-120}" # seconds until the first node must answer

fail() {
    echo "slurm_ray.sh: $*" >&2
    exit 1
}

# Whoever reaches a port of Ray can run code: only addresses that the internet does not route will do.
is_private() {
    case "$1" in
        10.*.*.* | 192.168.*.* | 127.*.*.*) return 0 ;;
        172.1[6-9].*.* | 172.2[0-9].*.* | 172.3[01].*.*) return 0 ;;
        100.6[4-9].*.* | 100.[7-9][0-9].*.* | 100.1[01][0-9].*.* | 100.12[0-7].*.*) return 0 ;;
        *) return 1 ;;
    esac
}

# The first private address of a node; a node may have several interfaces.
private_address() {
    local each
    for each in $(srun --nodes=1 --ntasks=1 --nodelist="$1" hostname -I); do
        if is_private "$each"; then
            echo "$each"
            return 0
        fi
    done
    return 1
}

stop() {
    local code=$?
    trap - EXIT INT TERM
    local each
    for each in $(jobs -p); do
        kill -TERM "$each" 2>/dev/null || true
    done
    wait || true
    exit "$code"
}

main() {
    [ -n "${SLURM_JOB_NODELIST:-}" ] || fail "not in a Slurm allocation; submit it with sbatch"
    [ -f tables/params.yaml ] || fail "no tables/params.yaml here; submit it from the project's root"
    local cpus="${SLURM_CPUS_PER_TASK:-1}"
    local -a nodes
    mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
    local head="${nodes[0]}" address waited=0
    address="$(private_address "$head")" || fail "$head has no private address; Ray is not started on a public one"

    trap stop EXIT
    trap 'exit 143' INT TERM
    export RAY_USAGE_STATS_ENABLED=0 RAY_AUTH_MODE="${RAY_AUTH_MODE:-token}"
    if [ -z "${RAY_AUTH_TOKEN:-}${RAY_AUTH_TOKEN_PATH:-}" ]; then
        RAY_AUTH_TOKEN="$(od -An -v -N32 -tx1 /dev/urandom | tr -d ' \n')" # of this allocation alone
        export RAY_AUTH_TOKEN
    fi
    srun --nodes=1 --ntasks=1 --nodelist="$head" --overlap \
        ray start --head --node-ip-address="$address" --port="$port" --num-cpus="$cpus" --include-dashboard=false --block &
    until ray status --address "$address:$port" >/dev/null 2>&1; do
        waited=$((waited + 1))
        [ "$waited" -le "$patience" ] || fail "Ray did not start on $head within $patience seconds"
        sleep 1
    done
    if [ "${#nodes[@]}" -gt 1 ]; then
        srun --nodes="$((${#nodes[@]} - 1))" --ntasks="$((${#nodes[@]} - 1))" --exclude="$head" --overlap \
            ray start --address="$address:$port" --num-cpus="$cpus" --block &
    fi
    # In the background, so that a signal is handled at once and not when it ends.
    fsgc tables run --ray "$address:$port" --shared "${FSGC_SHARED:-$PWD/tables/data/.training}" "$@" &
    wait $!
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    main "$@"
fi
