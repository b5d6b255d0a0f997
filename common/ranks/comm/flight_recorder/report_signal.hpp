#pragma once
// SIGUSR1 asks a rank where it is; not for others.

namespace lockstep::comm {

// Handles SIGUSR1 where the program leaves it to the system, which would end the process. Any thread, any number of
// times.
void watch_report_signal() noexcept;

// How often SIGUSR1 has come: a thread that sees the number change answers.
[[nodiscard]] unsigned reports_asked() noexcept;

}  // namespace lockstep::comm
