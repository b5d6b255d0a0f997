#include "net/token.hpp"

#include <fcntl.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace lockstep::net {
namespace {

constexpr std::size_t kTokenBytes = 32;
constexpr std::size_t kMinTokenCharacters = 16;

// A folder or file in a place that others can write to is trusted only if it is ours and closed to them.
void check_owner(const std::string& path, const struct stat& status) {
  if (status.st_uid != ::geteuid() || (status.st_mode & 0077) != 0) {
    throw Error(concat(path, " is not this user's alone, so the job token in it proves nothing; remove it, or set ",
                       "LOCKSTEP_TOKEN on every rank"));
  }
}

std::string private_folder() {
  const std::string folder = concat(environment::get("XDG_RUNTIME_DIR").value_or("/tmp"), "/lockstep-", ::geteuid());
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) throw IoError(concat("making ", folder), errno);
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) throw IoError(folder, errno);
  if (!S_ISDIR(status.st_mode)) throw Error(concat(folder, " is not a folder; remove it"));
  check_owner(folder, status);
  return folder;
}

std::string read_token_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.is_open()) throw IoError(concat("opening ", path), errno);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) throw IoError(path, errno);
  check_owner(path, status);
  std::array<char, 2 * kTokenBytes + 2> content{};  // an end of line, and room to notice what is too long
  const ssize_t bytes = ::read(fd.get(), content.data(), content.size());
  if (bytes < 0) throw IoError(concat("reading ", path), errno);
  return parse_token({content.data(), static_cast<std::size_t>(bytes)}, path);
}

// Written under another name and linked into place, so that the file appears whole, and only one writer wins.
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

std::string check_token(const std::string& token) {
  if (token.size() >= kMinTokenCharacters) return token;
  throw FormatError(concat("LOCKSTEP_TOKEN has ", token.size(), " characters; a job token needs at least ",
                           kMinTokenCharacters, " (make one with: openssl rand -hex 32)"));
}

std::string parse_token(std::string_view content, const std::string& path) {
  if (content.ends_with('\n')) content.remove_suffix(1);
  const bool is_token =
      content.size() == 2 * kTokenBytes && content.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (!is_token) throw FormatError(concat(path, " holds no job token; remove it"));
  return std::string(content);
}

std::string find_token(const SocketAddress& meeting_point) {
  if (const auto token = environment::get("LOCKSTEP_TOKEN")) return check_token(*token);
  if (!is_loopback(meeting_point.host)) {
    throw Error(concat("ranks meet at ", meeting_point.text(), ", which other machines can reach, and LOCKSTEP_TOKEN ",
                       "is not set; give every rank the same secret: export LOCKSTEP_TOKEN=$(openssl rand -hex 32)"));
  }
  const std::string path = concat(private_folder(), "/", meeting_point.host, "-", meeting_point.port, ".token");
  if (::access(path.c_str(), F_OK) != 0) make_token_file(path);
  return read_token_file(path);
}

}  // namespace lockstep::net
