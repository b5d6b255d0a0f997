"""All phases as one list in the order of the steps' worth, for a machine that is lent for minutes.

Right answers first, several steps at once; then times, each step alone and beside PyTorch's; then NVIDIA's checkers.
"""
import phases
import planted
import training
from runner import SIDE_BY_SIDE

CALL_SECONDS = 540  # of a loan that allows ten minutes a call, its start and the way back included


def is_kernels(step):
    return "kernels" in step.name


def steps(carried, gpus):
    """Each step of each phase once."""
    by_name = {step.name: step for phase in "ABDC" for step in phases.PHASES[phase](carried, gpus)}
    by_name |= {step.name: step for step in [training.compile_ahead(), *planted.steps(carried, phases.tool)]}
    right = ["machine", "compile_pytorch", *(name for name, step in by_name.items() if is_kernels(step)), "train_124m_bf16",
             "losses_beside_cpu", "all_reduce_2_ranks", "train_ddp", "mismatch"]
    right += [name for name, step in by_name.items() if not step.is_timed and name not in (*right, *LATER)]
    timed = ["ceilings", "lockstep_bf16_32", "pytorch_bf16_32", "operations", "operations_of_pytorch", "ladder_flash_attention",
             "ladder_matrix_product", "lockstep_bf16_64", "pytorch_bf16_64", "algorithms_bf16_64"]
    first = [*right, *timed, *LATER]
    return [by_name[name] for name in [*first, *(name for name in by_name if name not in first)] if name in by_name]


# Checkers and everything else that is slow: after the times.
LATER = ("memcheck", "racecheck", "planted", "bus_bandwidth_test", "collective_faults_test")


def seconds_of(group):
    """The longest that steps may take that run side by side, or one alone."""
    return max(step.seconds for step in group) if len(group) > 1 else group[0].seconds


def calls(planned):
    """The plan as calls of at most CALL_SECONDS: [(step, the second of its call in which it begins at the latest)]."""
    out, begin = [[]], 0
    for group in side_by_side(planned):
        needed = seconds_of(group)
        if begin + needed > CALL_SECONDS and out[-1]:
            out.append([])
            begin = 0
        out[-1] += [(step, begin) for step in group]
        begin += needed
    return out


def side_by_side(planned):
    """Neighbours that run at once, at most runner.SIDE_BY_SIDE of them; timed steps are alone."""
    groups = []
    for step in planned:
        if groups and not step.is_timed and not groups[-1][0].is_timed and len(groups[-1]) < SIDE_BY_SIDE:
            groups[-1].append(step)
        else:
            groups.append([step])
    return groups


def text(planned):
    """What `session.sh plan` prints."""
    lines = []
    for number, call in enumerate(calls(planned), 1):
        longest = max(begin + step.seconds for step, begin in call)
        lines.append(f"call {number}: at most {longest:.0f} s")
        lines += [f"  {begin:4.0f}  {step.name:26}{step.seconds:4.0f} s{'' if step.is_timed else '  beside others'}"
                  for step, begin in call]
    return "\n".join(lines)
