"""The peer of `npm run bench`: PyTorch, transformers and PEFT doing what the engine does.

    python peer.py versions
    python peer.py train MODEL.gguf --tokens 512 --response 256 --threads 2 --mode bf16 --steps 5
    python peer.py gemm 3072x576 576x1536 --tokens 512 --threads 2 --matrices 30 --runs 24

Each prints one line of JSON. `train`: seconds of each step after a warm-up one, the peak resident memory of the
process before the first step and at the end, and the loss and the norm of all gradients, by which the caller sees
that both programs computed the same. A step is forward, cross-entropy of the response tokens (logits at those
positions only) and backward to every LoRA gradient, no optimiser. `gemm`: GFLOP/s of x · Wᵀ by shape and type.
"""

import argparse
import contextlib
import json
import os
import sys
import time
import warnings
from pathlib import Path

# The bench reads standard output only; bars of other libraries are of no use to it.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TQDM_DISABLE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def peak_bytes() -> int:
    """Peak resident memory of this process; macOS counts in bytes, Linux in KiB."""
    if sys.platform == "win32":
        import psutil

        return psutil.Process().memory_info().peak_wset
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def token_ids(count: int, sample: int, vocabulary: int):
    """The same sequences as `tokenIds` in step.ts."""
    return [((i + 131 * sample) * 7919) % min(vocabulary, 40000) for i in range(count)]


def load(options):
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    # PEFT asks transformers by a name that is going away.
    warnings.filterwarnings("ignore", message=".*is_gradient_checkpointing.*")
    folder, name = str(options.model.parent), options.model.name
    base = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32)
    base.config.use_cache = False
    rank = options.rank
    lora = LoraConfig(
        r=rank, lora_alpha=2 * rank, lora_dropout=0.0, target_modules=TARGETS, task_type="CAUSAL_LM"
    )
    model = get_peft_model(base, lora)
    model.train()
    fill_adapter(model)
    return model


def fill_adapter(model) -> None:
    """The same numbers as `fillAdapter` in step.ts. B does not depend on the row: GGUF files order the rows of the
    query and key projections in another way."""
    import torch

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_A" in name:
                i = torch.arange(parameter.numel(), dtype=torch.float64)
                values = ((i * 7919) % 101 - 50) / 50 / parameter.shape[1] ** 0.5
                parameter.copy_(values.reshape(parameter.shape))
            elif "lora_B" in name:
                j = torch.arange(parameter.shape[1], dtype=torch.float64)
                parameter.copy_((((j * 37) % 17 - 8) / 2000).expand(parameter.shape))


def train(options) -> dict:
    import torch

    torch.set_num_threads(options.threads)
    model = load(options)
    loaded_bytes = peak_bytes()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    size = (options.tokens + 1, model.config.vocab_size)
    tokens = torch.tensor([token_ids(size[0], sample, size[1]) for sample in range(options.batch)])
    labels = tokens[:, -options.response :].reshape(-1)
    seconds = []
    for _ in range(options.steps + 1):
        started = time.perf_counter()
        model.zero_grad(set_to_none=True)
        rounded = torch.autocast("cpu", dtype=torch.bfloat16)
        with contextlib.nullcontext() if options.mode == "f32" else rounded:
            logits = model(tokens[:, :-1], logits_to_keep=options.response).logits
            logits = logits.reshape(-1, logits.shape[-1]).float()
            loss = torch.nn.functional.cross_entropy(logits, labels)
        loss.backward()
        seconds.append(time.perf_counter() - started)
    gradients = [parameter.grad.double().square().sum().item() for parameter in trained]
    return {
        "seconds": seconds[1:],
        "loadedBytes": loaded_bytes,
        "peakBytes": peak_bytes(),
        "loss": loss.item(),
        "gradientNorm": sum(gradients) ** 0.5,
    }


def gemm(options) -> dict:
    import torch

    torch.set_num_threads(options.threads)
    rates = []
    for text in options.shapes:
        rows, columns = (int(part) for part in text.split("x"))
        for name, dtype in [("PyTorch f32", torch.float32), ("PyTorch bf16", torch.bfloat16)]:
            rate = product_rate(options, (rows, columns), dtype)
            rates.append({"shape": [rows, columns], "type": name, "gflops": rate})
    return {"rates": rates}


def product_rate(options, shape, dtype) -> float:
    """Best of all runs. Each takes the next matrices in turn, so that they come from memory as in a model."""
    import torch

    rows, columns = shape
    matrices = [torch.randn(rows, columns).to(dtype) for _ in range(options.matrices)]
    x = torch.randn(options.tokens, columns).to(dtype)
    flops = 2 * rows * columns * options.tokens * options.products
    best = float("inf")
    turn = 0
    with torch.no_grad():
        for _ in range(options.runs + 1):
            started = time.perf_counter()
            for _ in range(options.products):
                torch.nn.functional.linear(x, matrices[turn % options.matrices])
                turn += 1
            best = min(best, time.perf_counter() - started)
    return flops / best / 1e9


def versions(_options) -> dict:
    from importlib.metadata import version

    names = ["torch", "transformers", "peft", "gguf", "accelerate"]
    return {"versions": {"python": sys.version.split()[0]} | {name: version(name) for name in names}}


def read_options():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("versions")
    command.set_defaults(run=versions)

    command = commands.add_parser("train")
    command.set_defaults(run=train)
    command.add_argument("model", type=Path)
    command.add_argument("--tokens", type=int, default=512, help="input tokens of each sample")
    command.add_argument("--response", type=int, default=256, help="positions with a loss")
    command.add_argument("--batch", type=int, default=1, help="samples in one step")
    command.add_argument("--threads", type=int, default=2)
    command.add_argument("--mode", choices=["f32", "bf16"], default="bf16")
    command.add_argument("--rank", type=int, default=16)
    command.add_argument("--steps", type=int, default=5, help="steps measured after a warm-up one")

    command = commands.add_parser("gemm")
    command.set_defaults(run=gemm)
    command.add_argument("shapes", nargs="+", help="rows x columns of W, as 3072x576")
    command.add_argument("--tokens", type=int, default=512)
    command.add_argument("--threads", type=int, default=2)
    command.add_argument("--matrices", type=int, default=30)
    command.add_argument("--products", type=int, default=5, help="products in one run")
    command.add_argument("--runs", type=int, default=24)
    return parser.parse_args()


if __name__ == "__main__":
    chosen = read_options()
    print(json.dumps(chosen.run(chosen)))
