#pragma once
/// @file
/// For programs that start their own ranks: one command, no launcher in sight.
#include <functional>

namespace lockstep::launch {

/// Runs `function` once in each of `world_size` fresh processes and watches them until all have ended.
///
/// The calling program is executed again, with the same arguments and a rank's environment (RANK, WORLD_SIZE, ...,
/// see launcher.hpp), once per rank. Each of those processes comes to the same call of spawn(), which there runs
/// `function` and returns its result. So everything before the call runs in every rank as well: keep it to parsing
/// options, and return from main with what spawn() returns:
///
///     int main(int argc, char** argv) {
///       const Options options = parse(argc, argv);
///       return launch::spawn([&] { return run_rank(options); }, options.world_size);
///     }
///
/// Inside `function`, `comm::rendezvous("env://")` tells the rank who it is. A process that has RANK and WORLD_SIZE
/// in its environment already (torchrun, `lockstep launch`) is a rank: there `function` runs at once, and
/// `world_size` is ignored.
///
/// @param function    What a rank does; its result is the rank's exit code. Exceptions pass through to the caller.
/// @param world_size  At least 1.
/// @return  In a rank: the result of `function`. In the program that was started by hand: 0 if all ranks ended with
///          0, else the exit code of the rank that failed first (128 + signal), after saying which and why. The
///          output of the ranks has been passed on with "[rank 2] " before each line.
/// @throws ContractError  world_size < 1.
/// @throws IoError        A process could not be started.
/// @pre  Called from the main thread, once.
[[nodiscard]] int spawn(const std::function<int()>& function, int world_size);

/// Whether this process has been started as a rank, by this launcher, torchrun, mpirun or srun
/// (comm::is_started_as_rank).
[[nodiscard]] bool is_rank();

}  // namespace lockstep::launch
