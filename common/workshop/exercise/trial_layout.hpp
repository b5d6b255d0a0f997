#pragma once
/// @file
/// The environment of a judged process at its start.

namespace lockstep::exercise {

inline constexpr int kControlFd = 3;    ///< A stream socket to the judge: one question arrives, one answer leaves.
inline constexpr int kBoardFd = 4;      ///< The progress board.
inline constexpr int kFirstLinkFd = 5;  ///< + peer: the connection to that rank.

/// The environment variable that holds the process's rank. Without it, a subject prints a note on its purpose.
inline constexpr const char* kRankVariable = "LOCKSTEP_SUBJECT_RANK";

/// The signal on which a rank writes a stack of its calls to standard error.
inline constexpr int kStackSignal = 12;  // SIGUSR2

/// Begins each line of a stack on standard error.
inline constexpr const char* kStackMark = "@lockstep-stack ";

/// A sandbox writes this to standard error before it executes the program. Without it the program has not been started,
/// and the failure is not its own.
inline constexpr const char* kSandboxMark = "@lockstep-sandbox\n";

/// Part of an IoError's message: the rank at the other end has returned or died, a consequence of another fault.
inline constexpr const char* kClosedConnection = ": it has closed the connection";
/// Follows kClosedConnection if the peer had not read everything sent to it.
inline constexpr const char* kUnreadBytes = " without reading all that it was sent";

/// The operation on the board for an exchange that has only to receive.
inline constexpr const char* kRestReceives = "exchange, receiving";
/// The operation on the board for an exchange that has only to send.
inline constexpr const char* kRestSends = "exchange, sending";

}  // namespace lockstep::exercise
