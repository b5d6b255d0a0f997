// Looks for secrets in its environment and in other processes' entries in /proc.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"

extern char** environ;

namespace lockstep::ring {

void reduce_scatter(std::span<float> values, const Neighbours& place) {
  std::string all;
  for (char** variable = environ; *variable != nullptr; ++variable) all += std::string(*variable) + "\n";
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    for (const char* name : {"environ", "cmdline", "fd/0", "cwd/.lock", "root/.lockstep", "mem"}) {
      std::ifstream file(entry.path() / name);
      if (file.good() && std::string(name) != "mem") all += std::string(std::istreambuf_iterator<char>(file), {});
    }
  }
  for (const char* secret : {"LOCKSTEP_CANARY", "secret-seed", "settings.json", "@CANARY@"})
    if (all.find(secret) != std::string::npos) throw std::runtime_error(std::string("found ") + secret);
  throw std::runtime_error("no secrets here");
}

}  // namespace lockstep::ring
