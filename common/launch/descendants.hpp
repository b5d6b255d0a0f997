#pragma once
/// @file
/// The processes below a process.
#include <sys/types.h>

#include <vector>

namespace lockstep::launch {

/// Children, grandchildren and so on of `ancestor`, as /proc shows them at this moment; ended ones that nobody has
/// waited for are left out. A process whose parent has ended counts below whichever process inherited it.
/// @cost  One pass over /proc.
[[nodiscard]] std::vector<pid_t> descendants_of(pid_t ancestor);

}  // namespace lockstep::launch
