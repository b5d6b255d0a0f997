#pragma once
/// @file
/// Where the code of a submission is compiled and run: bubblewrap where it works, else limits alone. What really holds
/// is tried, not assumed.
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::grading {

/// A file or folder that is visible in a sandbox.
struct Mount {
  std::filesystem::path from;  ///< Outside.
  std::filesystem::path to;    ///< Inside.
  bool is_writable = false;    ///< By the user for submissions, whom it must belong to.
};

/// What a sandboxed process may use; each process for itself, except `processes`.
struct Limits {
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;  ///< Of address space.
  std::uint64_t file_bytes = std::uint64_t{256} << 20;  ///< In one file.
  int processes = 128;                                  ///< And threads, of one submission at a time.
  int open_files = 256;                                 ///< Descriptors.
  int seconds = 120;                                    ///< Of processor time.
};

/// What is run in a sandbox.
struct SandboxPlan {
  std::vector<Mount> mounts = {};         ///< Beside the system's programs and libraries; in order, later ones on top.
  std::filesystem::path folder = "/tmp";  ///< Where it starts.
  Limits limits = {};                     ///< See there.
  bool has_loopback = false;  ///< Its processes may connect to those of other sandboxes that were started in
                              ///< the same Sandbox::own_network(), and to nobody else.
};

/// How a sandbox is made.
enum class SandboxKind {
  kBubblewrapAsRoot,  ///< Namespaces made by root; inside, a user of its own.
  kBubblewrap,        ///< Namespaces in a user namespace.
  kLimitsOnly         ///< Neither: limits, a filter of system calls, and as root a user of its own.
};

/// One thing that a sandbox is to prevent, and whether it does here.
struct Protection {
  std::string name;    ///< "no network"
  bool holds = false;  ///< Seen when it was tried.
};

/// Makes commands that run others in a sandbox. A value type.
class Sandbox {
 public:
  /// @param confine  The program lockstep_confine. @param user  For submissions, where this process is root: one that
  /// nothing else on this machine uses. @param kind  How.
  Sandbox(std::filesystem::path confine, uid_t user, SandboxKind kind);

  /// The best kind that starts a program here.
  [[nodiscard]] static Sandbox best(const std::filesystem::path& confine, uid_t user);

  /// How it is made.
  [[nodiscard]] SandboxKind kind() const noexcept { return kind_; }
  /// The same for another user.
  [[nodiscard]] Sandbox for_user(uid_t user) const { return {confine_, user, kind_}; }
  /// Whether processes in it see files at all paths but those of `mounts`: then the plan's paths do not exist.
  [[nodiscard]] bool has_own_files() const noexcept { return kind_ != SandboxKind::kLimitsOnly; }

  /// What to put before a command's absolute path.
  [[nodiscard]] std::vector<std::string> prefix(const SandboxPlan& plan) const;

  /// What to put before a command that starts several sandboxes with has_loopback: a network with nobody else in it.
  /// @pre has_own_files()
  [[nodiscard]] static std::vector<std::string> own_network();

  /// Gives a folder and all in it to the user for submissions, where there is one. @throws IoError
  void hand_over(const std::filesystem::path& folder) const;
  /// Lets the user for submissions pass through a folder and those above it, up to `top`, to what is in there: needed
  /// if a sandbox has no files of its own. @throws std::filesystem::filesystem_error
  void let_pass(const std::filesystem::path& folder, const std::filesystem::path& top) const;
  /// Ends all processes of the user for submissions, where there is one.
  void end_processes_of_user() const;

  /// Tries, in a sandbox, what must not work.
  /// @param hidden  A file that must not be readable. @pre adopt_orphans().
  [[nodiscard]] std::vector<Protection> try_protections(const std::filesystem::path& hidden) const;

 private:
  std::vector<std::string> bubblewrap(const SandboxPlan& plan) const;
  [[nodiscard]] bool works() const;

  std::filesystem::path confine_;
  uid_t user_;
  SandboxKind kind_;
};

/// In words, for people.
[[nodiscard]] std::string describe(SandboxKind kind);

}  // namespace lockstep::grading
