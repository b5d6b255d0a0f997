#include "net/descriptor_limit.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"

namespace lockstep::net {

std::uint64_t raise_descriptor_limit(std::uint64_t needed) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) throw IoError("reading the limit of open files", errno);
  if (limit.rlim_cur >= needed || limit.rlim_cur >= limit.rlim_max) return limit.rlim_cur;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, needed);
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) throw IoError("raising the limit of open files", errno);
  return limit.rlim_cur;
}

void require_descriptors(std::uint64_t needed, std::string_view what) {
  const std::uint64_t available = raise_descriptor_limit(needed);
  if (available >= needed) return;
  throw Error(
      concat(what, " needs ", needed, " open files and connections, but this process may have ", available,
             " at most; raise the hard limit (ulimit -Hn, LimitNOFILE= of systemd, --ulimit nofile= of docker)"));
}

}  // namespace lockstep::net
