#include "net/token.hpp"

#include <fcntl.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <iomanip>
#include <set>
#include <sstream>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace lockstep::net {
namespace {

constexpr std::size_t kTokenBytes = 32;
constexpr std::size_t kMinTokenDigits = 32;  // 128 bits
constexpr std::size_t kMaxTokenDigits = 128;
constexpr std::size_t kMinDifferentDigits = 8;  // 32 random digits have fewer once in 20 million tokens

// A folder or file is trusted only if nobody but this user (and root) can read or change it.
void check_owner(const std::string& path, const struct stat& status, const std::string& advice) {
  const bool is_ours = status.st_uid == ::geteuid() || status.st_uid == 0;
  if (is_ours && (status.st_mode & 0077) == 0) return;
  std::ostringstream mode;
  mode << std::oct << std::setw(4) << std::setfill('0') << (status.st_mode & 07777);
  throw Error(concat(path, " is not this user's alone (owner ", status.st_uid, ", mode ", mode.str(),
                     "), so the job token in it proves nothing; ", advice));
}

constexpr const char* kRemoveIt = "remove it, or set LOCKSTEP_TOKEN on every rank";

std::string private_folder() {
  const std::string folder = concat(environment::get("XDG_RUNTIME_DIR").value_or("/tmp"), "/lockstep-", ::geteuid());
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) throw IoError(concat("making ", folder), errno);
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) throw IoError(folder, errno);
  if (!S_ISDIR(status.st_mode)) throw Error(concat(folder, " is not a folder; remove it"));
  check_owner(folder, status, kRemoveIt);
  return folder;
}

std::string read_token_file(const std::string& path, int flags, const std::string& advice) {
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags));
  if (!fd.is_open()) throw IoError(concat("opening the token file ", path), errno);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) throw IoError(path, errno);
  if (!S_ISREG(status.st_mode)) throw Error(concat(path, " is not a regular file; ", advice));
  check_owner(path, status, advice);
  std::array<char, kMaxTokenDigits + 2> content{};  // room for an end of line, and to detect a longer one
  const ssize_t bytes = ::read(fd.get(), content.data(), content.size());
  if (bytes < 0) throw IoError(concat("reading ", path), errno);
  return parse_token({content.data(), static_cast<std::size_t>(bytes)}, path);
}

// Written under another name and linked into place, so that the file appears complete, and only one writer wins.
void make_token_file(const std::string& path) {
  std::string draft = concat(path, ".XXXXXX");
  const UniqueFd fd(::mkostemp(draft.data(), O_CLOEXEC));  // mode 0600
  if (!fd.is_open()) throw IoError(concat("making ", draft), errno);
  const std::string token = make_token();
  const bool is_written = ::write(fd.get(), token.data(), token.size()) == static_cast<ssize_t>(token.size());
  const int write_error = errno;
  const bool is_linked = is_written && (::link(draft.c_str(), path.c_str()) == 0 || errno == EEXIST);
  const int link_error = errno;
  ::unlink(draft.c_str());
  if (!is_linked) throw IoError(concat("writing ", path), is_written ? link_error : write_error);
}

}  // namespace

std::string make_token() {
  std::array<unsigned char, kTokenBytes> random{};
  if (RAND_bytes(random.data(), static_cast<int>(random.size())) != 1) throw Error("the system gave no random bytes");
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string token;
  for (const unsigned char byte : random) token.append({kHex[byte >> 4], kHex[byte & 0xF]});
  return token;
}

std::string check_token(const std::string& token, const std::string& source) {
  const bool is_of_digits = std::ranges::all_of(token, [](unsigned char digit) { return std::isxdigit(digit) != 0; });
  const bool is_long_enough = token.size() >= kMinTokenDigits && token.size() <= kMaxTokenDigits;
  const bool is_varied = std::set<char>(token.begin(), token.end()).size() >= kMinDifferentDigits;
  if (is_of_digits && is_long_enough && is_varied) return token;
  throw FormatError(concat(source, " (", token.size(), " characters) is not a job token: a token is ", kMinTokenDigits,
                           " to ", kMaxTokenDigits, " random hexadecimal digits; make one with: openssl rand -hex 32"));
}

std::string parse_token(std::string_view content, const std::string& path) {
  if (content.ends_with('\n')) content.remove_suffix(1);
  return check_token(std::string(content), concat("the content of ", path));
}

std::optional<std::string> given_token() {
  if (const auto token = environment::get("LOCKSTEP_TOKEN")) return check_token(*token, "LOCKSTEP_TOKEN");
  const auto path = environment::get("LOCKSTEP_TOKEN_FILE");
  if (!path) return std::nullopt;
  return read_token_file(
      *path, 0,
      concat("LOCKSTEP_TOKEN_FILE must name a file of user ", ::geteuid(), " with mode 0600: chmod 600 ", *path));
}

std::string find_token(const SocketAddress& meeting_point) {
  if (const auto token = given_token()) return *token;
  if (!is_loopback(meeting_point.host)) {
    throw Error(concat("ranks meet at ", meeting_point.text(), ", which other machines can reach, and LOCKSTEP_TOKEN ",
                       "is not set; give every rank the same secret: export LOCKSTEP_TOKEN=$(openssl rand -hex 32), ",
                       "or name a file that holds it in LOCKSTEP_TOKEN_FILE"));
  }
  const std::string path = concat(private_folder(), "/", meeting_point.host, "-", meeting_point.port, ".token");
  if (::access(path.c_str(), F_OK) != 0) make_token_file(path);
  return read_token_file(path, O_NOFOLLOW, kRemoveIt);
}

}  // namespace lockstep::net
