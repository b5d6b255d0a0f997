#!/usr/bin/env python3
"""Times torch.distributed's Gloo all_reduce (float32 sum, in place) with the protocol of ../all_reduce_bench.cpp.

Started once per rank with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT set.
"""
import os
import statistics
import time

import torch
import torch.distributed as dist


def seconds_per_call(values, calls):
    dist.barrier()
    begin = time.perf_counter()
    for _ in range(calls):
        dist.all_reduce(values)
    slowest = torch.tensor([(time.perf_counter() - begin) / calls], dtype=torch.float64)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    return slowest.item()


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    world_size = dist.get_world_size()
    for size in (1 << 10, 16 << 10, 256 << 10, 4 << 20, 64 << 20):
        values = torch.zeros(size // 4)
        calls, rounds = 3, []
        for round_number in range(-2, 7):
            seconds = seconds_per_call(values, calls)
            if round_number < 0:
                calls = max(2, min(20000, int(0.15 / seconds)))
            else:
                rounds.append(seconds)
        if dist.get_rank() == 0:
            print(f"Gloo,{world_size},{size},{statistics.median(rounds) * 1e6:.2f}", flush=True)
    dist.barrier()
    os._exit(0)  # destroy_process_group() hangs on rank 0 with PyTorch 2.6 where another rank has gone already


main()
