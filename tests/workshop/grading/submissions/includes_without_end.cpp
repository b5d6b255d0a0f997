// Includes an endless file.
#include "/dev/zero"
#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"
