#pragma once
/// @file
/// Compiles and runs a submission's code in bubblewrap if that works, otherwise with limits alone. Its protections are
/// tested, not assumed.
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
  bool is_writable = false;    ///< By the user for submissions, who must own it.
};

/// Limits for a sandboxed process; each process separately, except `processes`.
struct Limits {
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;  ///< Address space.
  std::uint64_t file_bytes = std::uint64_t{256} << 20;  ///< Per file.
  int processes = 128;                                  ///< Including threads, of one submission at a time.
  int open_files = 256;
  int seconds = 120;  ///< Of processor time.
};

/// A sandbox's view of the machine.
struct SandboxPlan {
  std::vector<Mount> mounts = {};         ///< Besides the system's programs and libraries; later ones on top.
  std::filesystem::path folder = "/tmp";  ///< Working directory at the start.
  Limits limits = {};
  bool has_loopback = false;  ///< Its processes may connect to sandboxes started in the same Sandbox::own_network(),
                              ///< and to nothing else.
};

/// The mechanism of a sandbox.
enum class SandboxKind {
  kBubblewrapAsRoot,  ///< Root makes namespaces; inside, a separate user.
  kBubblewrap,        ///< Namespaces in a user namespace.
  kLimitsOnly         ///< Neither: limits, a filter of system calls and, as root, a separate user.
};

/// An action that a sandbox must prevent, and whether it does here.
struct Protection {
  std::string name;    ///< "no network"
  bool holds = false;  ///< Result of the test.
};

/// Makes commands that run other commands in a sandbox. A value type.
class Sandbox {
 public:
  /// @param confine  The program lockstep_confine.
  /// @param user     For submissions if this process is root: a user for nothing else on this machine.
  /// @param kind     The mechanism.
  Sandbox(std::filesystem::path confine, uid_t user, SandboxKind kind);

  /// The best kind that can start a program here.
  [[nodiscard]] static Sandbox best(const std::filesystem::path& confine, uid_t user);

  [[nodiscard]] SandboxKind kind() const noexcept { return kind_; }
  /// The same sandbox for another user.
  [[nodiscard]] Sandbox for_user(uid_t user) const { return {confine_, user, kind_}; }
  /// True if only `mounts` and the system are visible inside, so that other paths of the plan do not exist there.
  [[nodiscard]] bool has_own_files() const noexcept { return kind_ != SandboxKind::kLimitsOnly; }

  /// The words to put before a command's absolute path.
  [[nodiscard]] std::vector<std::string> prefix(const SandboxPlan& plan) const;

  /// The words to put before a command that starts several sandboxes with has_loopback: a private network.
  /// @pre has_own_files()
  [[nodiscard]] static std::vector<std::string> own_network();

  /// Gives a folder and its contents to the user for submissions, if there is one. @throws IoError
  void hand_over(const std::filesystem::path& folder) const;
  /// Lets the user for submissions traverse a folder and its parents up to `top`: needed if a sandbox has no files of
  /// its own. @throws std::filesystem::filesystem_error
  void let_pass(const std::filesystem::path& folder, const std::filesystem::path& top) const;
  /// The outermost of a path's folders that the user for submissions may not enter, although a sandbox without files of
  /// its own needs that; empty: there is none.
  [[nodiscard]] std::filesystem::path closed_folder(const std::filesystem::path& path) const;
  /// Kills all processes of the user for submissions, if there is one.
  void end_processes_of_user() const;

  /// Tries the forbidden actions in a sandbox.
  /// @param hidden  A file that must not be readable. @pre adopt_orphans().
  [[nodiscard]] std::vector<Protection> try_protections(const std::filesystem::path& hidden) const;

 private:
  std::vector<std::string> bubblewrap(const SandboxPlan& plan) const;
  [[nodiscard]] bool works() const;

  std::filesystem::path confine_;
  uid_t user_;
  SandboxKind kind_;
};

/// A description for people.
[[nodiscard]] std::string describe(SandboxKind kind);

}  // namespace lockstep::grading
