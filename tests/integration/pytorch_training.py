"""GPT-2 training in PyTorch on the samples of our trainer, for pytorch_agreement.py."""
import json
import math
import pathlib
import struct

import numpy as np
import torch
import torch.nn.functional as F

HEADS = {"tiny": 4, "small": 8, "tutorial": 8}  # every other size is read off the weights
BETAS, EPSILON, WEIGHT_DECAY = (0.9, 0.95), 1e-8, 0.1
LEARNING_RATE, MINIMUM = 2e-3, 2e-4


def read_safetensors(path):
    """{name: float32 tensor} of a file that holds only float32."""
    raw = pathlib.Path(path).read_bytes()
    (header_length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + header_length])
    body = raw[8 + header_length:]
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        assert entry["dtype"] == "F32", (name, entry)
        begin, end = entry["data_offsets"]
        values = np.frombuffer(body[begin:end], dtype="<f4").reshape(entry["shape"]).copy()
        tensors[name] = torch.from_numpy(values)
    return tensors


def gpt_loss(p, inputs, targets, heads):
    """Cross-entropy of GPT-2 with the parameters `p` in Hugging Face's names (matrices are [in, out])."""
    B, T = inputs.shape
    C = p["wte.weight"].shape[1]
    layers = 1 + max(int(name.split(".")[1]) for name in p if name.startswith("h."))

    def norm(x, name):
        return F.layer_norm(x, (C,), p[name + ".weight"], p[name + ".bias"], 1e-5)

    def dense(x, name):
        return x @ p[name + ".weight"] + p[name + ".bias"]

    def gelu(x):
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

    mask = torch.ones(T, T, dtype=torch.bool).triu(1)
    x = p["wte.weight"][inputs] + p["wpe.weight"][:T]
    for i in range(layers):
        h = f"h.{i}."
        q, k, v = (t.view(B, T, heads, C // heads).transpose(1, 2)
                   for t in dense(norm(x, h + "ln_1"), h + "attn.c_attn").split(C, dim=2))
        scores = (q @ k.transpose(2, 3)) / math.sqrt(C // heads)
        y = F.softmax(scores.masked_fill(mask, -math.inf), dim=-1) @ v
        x = x + dense(y.transpose(1, 2).reshape(B, T, C), h + "attn.c_proj")
        x = x + dense(gelu(dense(norm(x, h + "ln_2"), h + "mlp.c_fc")), h + "mlp.c_proj")
    logits = norm(x, "ln_f") @ p["wte.weight"].T
    return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))


class Text:
    """The samples that our TokenDataset cuts out of a file."""

    def __init__(self, path, context):
        tokens = torch.from_numpy(np.frombuffer(pathlib.Path(path).read_bytes(), dtype=np.uint8).astype(np.int64))
        split = len(tokens) * 9 // 10
        self.context = context
        self.training, self.validation = tokens[:split], tokens[split:]

    def batch(self, tokens, ids):
        T = self.context
        rows = torch.stack([tokens[i * T:i * T + T + 1] for i in ids])
        return rows[:, :-1], rows[:, 1:]

    def validation_loss(self, p, case):
        total, count = 0.0, (len(self.validation) - 1) // self.context
        with torch.no_grad():
            for first in range(0, count, 16):
                ids = range(first, min(first + 16, count))
                total += gpt_loss(p, *self.batch(self.validation, ids), HEADS[case.model]).item() * len(ids)
        return total / count


class TorchTrainer:
    """One training in PyTorch: in float64, float32, or float32 under autocast."""

    def __init__(self, weights, case, text, dtype, parts=1):
        self.p = {name: tensor.to(dtype, copy=True).requires_grad_() for name, tensor in weights.items()}
        decayed = [t for t in self.p.values() if t.dim() >= 2]
        others = [t for t in self.p.values() if t.dim() < 2]
        self.optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": WEIGHT_DECAY},
                                            {"params": others, "weight_decay": 0.0}],
                                           lr=LEARNING_RATE, betas=BETAS, eps=EPSILON)
        self.case, self.text, self.parts = case, text, case.micro_batches * parts
        self.is_exact = dtype == torch.float64
        self.is_autocast = case.is_bf16 and dtype == torch.float32

    def step(self, index, ids):
        """Mean loss and gradient norm before clipping of one update."""
        self.optimizer.zero_grad()
        total = 0.0
        for part in np.array_split(ids, min(self.parts, len(ids))):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.is_autocast):
                loss = gpt_loss(self.p, *self.text.batch(self.text.training, part), HEADS[self.case.model])
            (loss * (len(part) / len(ids))).backward()
            total += loss.item() * (len(part) / len(ids))
        norm = self.clip()
        for group in self.optimizer.param_groups:
            group["lr"] = self.case.learning_rate(index)
        self.optimizer.step()
        return total, norm

    def clip(self):
        """Norm before clipping, as clip_grad_norm_; but squares of float32 are added up in float64.

        clip_grad_norm_ adds them in float32, and is off by 2e-5 of the norm for the 8 million elements of small: it would
        hide every other rounding of the step.
        """
        if self.is_exact:
            return torch.nn.utils.clip_grad_norm_(self.p.values(), self.case.clip).item()
        squares = sum(torch.linalg.vector_norm(t.grad, dtype=torch.float64).item()**2 for t in self.p.values())
        norm = math.sqrt(squares)
        if norm + 1e-6 > self.case.clip:
            for tensor in self.p.values():
                tensor.grad.mul_(self.case.clip / (norm + 1e-6))
        return norm

    def gradients(self):
        """After clipping, of the last step."""
        return {name: tensor.grad.clone() for name, tensor in self.p.items()}

    def parameters(self):
        return {name: tensor.detach().clone() for name, tensor in self.p.items()}
