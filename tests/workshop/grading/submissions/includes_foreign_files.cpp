// Includes other people's files, and lets the compiler print them.
#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"

#if __has_include("@CANARY@") || __has_include("/etc/shadow") || __has_include("/root/.bashrc")
#error found a file
#endif
#include "/etc/shadow"
#include "/proc/1/cmdline"
#include "/proc/self/environ"
#include "@CANARY@"
