# Shared by the scripts beside it; source it, do not run it.
#
# Every step says what it does and how long it took; a step that fails says which one, and shows the end of its log.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build_dir=$root/build/release
venv=$root/.venv
node_dir=$root/build/node
log_dir=$root/build/log
mkdir -p "$log_dir"
# Packages are compiled when they are first imported (setup_python): without what that leaves, each import of torch
# takes three times the time, here and in the peers that are measured.
unset PYTHONDONTWRITEBYTECODE

# step "what it does" command...
step() {
    local title=$1 log start
    shift
    log=$log_dir/$(printf '%s' "$title" | tr -cs 'a-zA-Z0-9' '-' | cut -c1-40).log
    printf '==> %s ... ' "$title"
    start=$(date +%s)
    if "$@" >"$log" 2>&1 </dev/null; then
        printf 'done in %s s\n' "$(($(date +%s) - start))"
    else
        local code=$?
        printf 'FAILED (exit code %s) after %s s\n' "$code" "$(($(date +%s) - start))"
        tail -n 25 "$log" | sed 's/^/    /'
        printf 'The step "%s" failed; its whole output is in %s\n' "$title" "${log#"$root"/}"
        exit 1
    fi
}

# on_all_cores FUNCTION NAME...: FUNCTION of each name, one a core at a time, its output in build/log/FUNCTION-NAME.log.
# Of one that fails the end of its output is shown.
on_all_cores() {
    local function=$1 name log failed=0
    shift
    for name in "$@"; do
        while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do sleep 0.2; done
        log=$log_dir/$function-$name
        rm -f "$log.passed"
        (
            start=$(date +%s)
            "$function" "$name" >"$log.log" 2>&1 || exit 1
            echo "    $name: $(($(date +%s) - start)) s"
            touch "$log.passed"
        ) &
    done
    wait
    # A file says how each ended: bash forgets a status once the number of the process is given to another child.
    for name in "$@"; do
        if [ ! -e "$log_dir/$function-$name.passed" ]; then
            failed=1
            echo "$function $name FAILED; its output is in build/log/$function-$name.log, which ends with:"
            tail -n 40 "$log_dir/$function-$name.log"
        fi
    done
    return $failed
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        echo "Root rights are needed to run: $*"
        echo "Run this script as root, or install sudo, or install the packages of tools/apt.txt yourself."
        return 1
    fi
}

# missing_packages LIST: those of tools/LIST that are not installed.
missing_packages() {
    local package
    while read -r package; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || echo "$package"
    done <"$root/tools/$1"
}

install_packages() {
    as_root apt-get update -q &&
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"
}

# setup_system [LIST]: the Debian packages of tools/LIST (apt.txt), only those that are missing.
setup_system() {
    local missing
    mapfile -t missing < <(missing_packages "${1:-apt.txt}")
    if [ "${#missing[@]}" -gt 0 ]; then
        step "Installing ${#missing[@]} Debian packages" install_packages "${missing[@]}"
    fi
}

# Prefers the system's Python: the packages of tools/apt.txt belong to it.
make_venv() {
    local python=python3
    [ -x /usr/bin/python3 ] && python=/usr/bin/python3
    "$python" -m venv "$venv"
}

# setup_python NAME...: the pinned packages of tools/requirements-NAME.txt; a stamp of the list's hash skips what stands.
# They are compiled when they are imported: most of their modules never are.
setup_python() {
    [ -x "$venv/bin/python" ] || step "Making the virtual environment .venv" make_venv
    local name list stamp
    for name in "$@"; do
        list=$root/tools/requirements-$name.txt
        stamp=$venv/.requirements-$name.sha256
        if ! sha256sum --status --check "$stamp" 2>/dev/null; then
            step "Installing Python packages ($name)" "$venv/bin/pip" install --disable-pip-version-check --no-compile -r "$list"
            sha256sum "$list" >"$stamp"
        fi
    done
}

# The environment of packages that contradict those of .venv, a folder within it.
apart_dir() { echo "$venv/apart/$1"; }

# make_python_apart NAME: has its own packages first and those of .venv behind them; what its packages say they need is
# not asked about, for .venv may have another version.
make_python_apart() {
    local apart packages
    apart=$(apart_dir "$1")
    rm -rf "$apart" && "$venv/bin/python" -m venv "$apart" || return 1
    packages=$(cd "$apart" && echo lib/python3*/site-packages)
    echo "../../../../../$packages" >"$apart/$packages/behind.pth" &&
        "$apart/bin/pip" install --disable-pip-version-check --no-compile --no-deps -r "$root/tools/requirements-$1.txt"
}

# setup_python_apart NAME: the pinned packages of tools/requirements-NAME.txt in an environment of their own.
setup_python_apart() {
    local stamp
    stamp=$(apart_dir "$1")/.requirements.sha256
    if ! sha256sum --status --check "$stamp" 2>/dev/null; then
        step "Making an environment apart ($1)" make_python_apart "$1"
        sha256sum "$root/tools/requirements-$1.txt" >"$stamp"
    fi
}

install_node_packages() {
    mkdir -p "$node_dir" && cp "$root"/tools/package.json "$root"/tools/package-lock.json "$node_dir" &&
        npm ci --prefix "$node_dir" --no-audit --no-fund
}

# setup_node: the pinned npm packages of tools/package-lock.json, with npm itself where it is missing.
setup_node() {
    local stamp=$node_dir/.package-lock.sha256
    command -v npm >/dev/null || step "Installing Node.js" install_packages nodejs npm
    if ! sha256sum --status --check "$stamp" 2>/dev/null; then
        step "Installing npm packages" install_node_packages
        sha256sum "$root/tools/package-lock.json" >"$stamp"
    fi
}

# The tree of programs with address and undefined-behaviour sanitizers, which script/fuzz and script/sanitize share.
address_dir=$root/build/fuzz

install_clang() {
    local packages
    mapfile -t packages <"$root/tools/apt-fuzz.txt"
    install_packages "${packages[@]}"
}

# configure_with_clang FOLDER OPTION...: a build tree without optimisation, because optimising what sanitizers add takes
# most of a build, and a run is short.
configure_with_clang() {
    local folder=$1
    shift
    setup_system
    { command -v clang++-19 && command -v ld.lld-19; } >/dev/null || step "Installing clang" install_clang
    setup_python torch test
    step "Configuring ${folder#"$root"/}" cmake -S "$root" -B "$folder" -G Ninja \
        -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-O0 -gline-tables-only" \
        -DASSAY_BUILD_TESTS=ON -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=6 \
        -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 "$@"
    # clang-19 comes without a symbolizer of its own.
    local sanitizer names
    names=external_symbolizer_path=$(command -v addr2line)
    for sanitizer in ASAN UBSAN TSAN; do
        export "${sanitizer}_OPTIONS=$(printenv "${sanitizer}_OPTIONS" || true):$names"
    done
}

# cached NAME: the value that the build tree was configured with, empty when it is not.
cached() {
    sed -n "s/^$1:[A-Z]*=//p" "$build_dir/CMakeCache.txt" 2>/dev/null || true
}

# build_programs [tests]: builds the programs, with "tests" the tests too. A build tree that has tests keeps them, and
# one that stood elsewhere when it was configured is made anew.
build_programs() {
    local tests=OFF
    [ "${1:-}" != tests ] || tests=ON
    [ "$(cached CMAKE_HOME_DIRECTORY)" = "$root" ] || rm -rf "$build_dir"
    if [ ! -f "$build_dir/build.ninja" ] || { [ $tests = ON ] && [ "$(cached ASSAY_BUILD_TESTS)" != ON ]; }; then
        step "Configuring the build" cmake -S "$root" --preset release -DASSAY_BUILD_TESTS=$tests
    fi
    step "Building in build/release (the first time takes minutes, later seconds)" cmake --build "$build_dir"
}
