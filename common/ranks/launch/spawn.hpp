#pragma once
/// @file
/// For programs that start their own ranks, without a launcher.
#include <functional>

namespace lockstep::launch {

/// Runs `function` once in each of `world_size` new processes and watches them until all have ended.
///
/// The calling program is executed again, with the same arguments and a rank's environment (RANK, WORLD_SIZE, ...,
/// see launcher.hpp), once per rank. Each of those processes reaches the same call of spawn(), which there runs
/// `function` and returns its result. So everything before the call runs in every rank too: only parse options there,
/// and return the result of spawn() from main:
///
///     int main(int argc, char** argv) {
///       const Options options = parse(argc, argv);
///       return launch::spawn([&] { return run_rank(options); }, options.world_size);
///     }
///
/// Inside `function`, `comm::rendezvous("env://")` makes the process a rank. A process that already has RANK and
/// WORLD_SIZE in its environment (torchrun, `lockstep launch`) is a rank: there `function` runs at once, and
/// `world_size` is ignored.
///
/// @param function    Runs in each rank; its result is the rank's exit code. Exceptions propagate to the caller.
/// @param world_size  At least 1.
/// @return  In a rank: the result of `function`. In the program that was started by hand: 0 if all ranks ended with
///          0, else the exit code of the rank that failed first (128 + signal), after reporting which and why. The
///          output of the ranks is forwarded with "[rank 2] " before each line.
/// @throws ContractError  world_size < 1.
/// @throws IoError        A process could not be started.
/// @pre  Called from the main thread, once.
[[nodiscard]] int spawn(const std::function<int()>& function, int world_size);

/// Whether this process has been started as a rank, by this launcher, torchrun, mpirun or srun
/// (comm::is_started_as_rank).
[[nodiscard]] bool is_rank();

}  // namespace lockstep::launch
