#pragma once
/// @file
/// What a judged process finds when it starts.

namespace lockstep::exercise {

inline constexpr int kControlFd = 3;    ///< A stream socket to the judge: one question comes, one answer goes.
inline constexpr int kBoardFd = 4;      ///< The progress board.
inline constexpr int kFirstLinkFd = 5;  ///< + peer: the connection to that rank.

/// The environment variable that holds the process's rank. Without it, a subject says what it is for.
inline constexpr const char* kRankVariable = "LOCKSTEP_SUBJECT_RANK";

/// The signal on which a rank writes a stack of its calls to standard error.
inline constexpr int kStackSignal = 12;  // SIGUSR2

/// Begins each line of a stack on standard error.
inline constexpr const char* kStackMark = "@lockstep-stack ";

/// What a sandbox writes to standard error before it becomes the program: without it the program has not been started,
/// and the failure is not its own.
inline constexpr const char* kSandboxMark = "@lockstep-sandbox\n";

/// Of the message of an IoError: the rank at the other end has returned or died, which is a consequence of something
/// else; and it did so before it had read everything that it was sent.
inline constexpr const char* kClosedConnection = ": it has closed the connection";
/// Follows the words above.
inline constexpr const char* kUnreadBytes = " without reading all that it was sent";

/// What an exchange with one direction left calls its operation on the board.
inline constexpr const char* kRestReceives = "exchange, receiving";
/// As above.
inline constexpr const char* kRestSends = "exchange, sending";

}  // namespace lockstep::exercise
