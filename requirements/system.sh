#!/usr/bin/env bash
# What no lock file can install: Python, Debian packages and the Rust toolchain.
#
#   system.sh python               prints the newest Python that Weft can be installed in
#   system.sh list GROUP...        prints which packages are missing and what they are for; installs nothing
#   system.sh install GROUP...     lists the missing packages, then installs them where that is possible
#
# `install` fails if packages are still missing, and then prints the command that installs them.
set -euo pipefail
shopt -s inherit_errexit

GROUPS_KNOWN="base linux emulator package ns3 simgrid browser tshark valgrind"
INCLUDE=${INCLUDE:-/usr/include}
# The Pythons for which all packages in the lock files have wheels, the newest first.
PYTHONS="python3.14 python3.13 python3.12 python3.11"

has() { command -v "$1" >/dev/null; }

usable() { "$1" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

newest_python() {
  local name
  for name in $PYTHONS python3; do
    if usable "$name"; then echo "$name" && return; fi
  done
  return 1
}

purpose() {
  case $1 in
    base) echo "Weft itself" ;;
    linux) echo "weftd and its tests" ;;
    emulator) echo "tests of weftd on Debian's kernels" ;;
    package) echo "tests of weftd's package" ;;
    ns3) echo "the comparison with ns-3" ;;
    simgrid) echo "the comparison with SimGrid" ;;
    browser) echo "tests of pages in a browser" ;;
    tshark) echo "tests of traces" ;;
    valgrind) echo "counts of instructions" ;;
  esac
}

missing() {
  case $1 in
    base)
      { has cc && has make; } || echo build-essential
      newest_python >/dev/null || printf '%s\n' python3 python3-venv
      ;;
    linux)
      has clang || echo clang
      has pkg-config || echo pkg-config
      [ -e "$INCLUDE/libelf.h" ] || echo libelf-dev
      [ -e "$INCLUDE/zlib.h" ] || echo zlib1g-dev
      ;;
    emulator)
      has ip || echo iproute2
      has nft || echo nftables
      has conntrack || echo conntrack
      has qemu-system-x86_64 || echo qemu-system-x86
      [ -e /bin/busybox ] || echo busybox-static
      ;;
    package)
      has mmdebstrap || echo mmdebstrap
      has gpgv || echo gpgv
      has apparmor_parser || echo apparmor
      ;;
    ns3) [ -e "$INCLUDE/ns3/core-module.h" ] || echo libns3-dev ;;
    simgrid) [ -e "$INCLUDE/simgrid/version.h" ] || echo libsimgrid-dev ;;
    browser) has chromium || echo chromium ;;
    tshark) has tshark || echo tshark ;;
    valgrind) has valgrind || echo valgrind ;;
    *)
      echo "$1: no such group; allowed: $GROUPS_KNOWN" >&2
      exit 2
      ;;
  esac
}

can_install() { [ "$(id -u)" = 0 ] && has apt-get; }

# Prints a line per group that lacks packages: the packages and their purpose.
lines() {
  local group found
  for group in "$@"; do
    found=$(missing "$group")
    if [ -n "$found" ]; then echo "  ${found//$'\n'/ }: for $(purpose "$group")"; fi
  done
}

case ${1:-} in
  python)
    newest_python || { echo "no Python from 3.11 on that has venv; run: sudo apt-get install python3 python3-venv" >&2; exit 1; }
    ;;
  list)
    shift
    found=$(lines "$@")
    if [ -z "$found" ]; then exit 0; fi
    if can_install; then
      echo "System packages that will be installed:"
    else
      echo "Missing system packages; what they are for is skipped. To install them: sudo apt-get install PACKAGE..."
    fi
    echo "$found"
    ;;
  install)
    shift
    found=$(lines "$@")
    if [ -z "$found" ]; then exit 0; fi
    packages=$(for group in "$@"; do missing "$group"; done)
    if can_install; then
      echo "Installing system packages:"
      echo "$found"
      # Recipes run at the same time, but only one apt-get may.
      exec 9<"$0" && flock 9
      # shellcheck disable=SC2086
      { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages; } \
        >/dev/null 9<&- || true
      found=$(lines "$@")
    fi
    if [ -n "$found" ]; then
      { echo "Missing system packages:"; echo "$found"; echo "To install them: sudo apt-get install ${packages//$'\n'/ }"; } >&2
      exit 1
    fi
    ;;
  *)
    echo "${1:-no command}: no such command; allowed: python, list, install" >&2
    exit 2
    ;;
esac
