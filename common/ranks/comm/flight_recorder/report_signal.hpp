#pragma once
// SIGUSR1 makes a rank report its status. Internal to this module.

namespace lockstep::comm {

// Handles SIGUSR1 unless the program does; by default it would end the process. Any thread, any number of times.
void watch_report_signal() noexcept;

// Number of SIGUSR1 received: a thread that sees it change reports.
[[nodiscard]] unsigned reports_asked() noexcept;

}  // namespace lockstep::comm
