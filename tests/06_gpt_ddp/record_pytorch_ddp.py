#!/usr/bin/env python3
"""Records what PyTorch's DistributedDataParallel (Gloo, two ranks) makes of a small model's gradients.

Run only to record anew: /usr/bin/python3 record_pytorch_ddp.py > pytorch_ddp.json
"""
import json
import os
import sys

import torch
import torch.multiprocessing as mp
import torch.nn as nn

WORLD_SIZE = 2
SAMPLES_PER_RANK = 3


def make_model():
    torch.manual_seed(5)
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))


def make_data():
    generator = torch.Generator().manual_seed(11)
    samples = WORLD_SIZE * SAMPLES_PER_RANK
    return torch.randn(samples, 3, generator=generator), torch.randn(samples, 2, generator=generator)


def train_one_step(rank, port, results):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.distributed.init_process_group("gloo", rank=rank, world_size=WORLD_SIZE)
    network = nn.parallel.DistributedDataParallel(make_model())
    features, targets = make_data()
    own = slice(rank * SAMPLES_PER_RANK, (rank + 1) * SAMPLES_PER_RANK)
    nn.functional.mse_loss(network(features[own]), targets[own]).backward()
    if rank == 0:
        results.put([p.grad.flatten().tolist() for p in network.module.parameters()])
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def main():
    context = mp.get_context("spawn")
    results = context.SimpleQueue()
    ranks = [context.Process(target=train_one_step, args=(r, 29777, results)) for r in range(WORLD_SIZE)]
    for process in ranks:
        process.start()
    gradients = results.get()
    for process in ranks:
        process.join()
    features, targets = make_data()
    names = ["0.weight", "0.bias", "2.weight", "2.bias"]
    json.dump(
        {
            "torch": torch.__version__,
            "features": features.flatten().tolist(),
            "targets": targets.flatten().tolist(),
            "parameters": {n: p.flatten().tolist() for n, p in zip(names, make_model().parameters())},
            "gradients": dict(zip(names, gradients)),
        },
        sys.stdout,
        indent=1,
    )


if __name__ == "__main__":
    main()
