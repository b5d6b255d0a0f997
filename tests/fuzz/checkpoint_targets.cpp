#include "fuzz/checkpoint_targets.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/unique_fd.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/safetensors.hpp"
#include "net/bytes.hpp"
#include "run/saved_state.hpp"

namespace lockstep::fuzz {
namespace {

namespace fs = std::filesystem;

// A file in memory: the parsers read files, and a disk would be too slow for millions of them.
class MemoryFile {
 public:
  explicit MemoryFile(Input input) : fd_(::memfd_create("input", MFD_CLOEXEC)) {
    if (!fd_.is_open()) throw std::runtime_error("memfd_create");
    write_all(fd_.get(), net::to_text(input), path());
  }
  [[nodiscard]] fs::path path() const { return concat("/proc/self/fd/", fd_.get()); }

 private:
  UniqueFd fd_;
};

std::vector<std::byte> bytes_of_text(std::string_view text) {
  const auto bytes = net::as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

// A safetensors file from a header and so many bytes of data.
std::vector<std::byte> file_of(std::string_view header, std::size_t data_bytes) {
  std::string bytes(sizeof(std::uint64_t), '\0');
  const std::uint64_t header_bytes = header.size();
  std::memcpy(bytes.data(), &header_bytes, sizeof header_bytes);
  bytes.append(header).append(data_bytes, '\1');
  return bytes_of_text(bytes);
}

// Reads everything of an accepted file: every entry, inside the file, each once.
std::size_t read_everything(const checkpoint::SafetensorsFile& file) {
  std::size_t data_bytes = 0;
  std::set<std::string> names;
  for (const checkpoint::TensorEntry& entry : file.entries()) {
    finding_unless(names.insert(entry.name).second, "a name twice");
    finding_unless(file.find(entry.name) == &entry, "an entry that is not found by its name");
    const std::size_t entry_bytes = entry.end - entry.begin;
    data_bytes += entry_bytes;
    std::vector<std::byte> bytes(entry_bytes);
    file.read_bytes(entry, 0, bytes);
    if (!checkpoint::is_readable(entry.type)) continue;
    const Tensor tensor = file.read(entry.name);
    const DType dtype = checkpoint::natural_dtype(entry.type);
    finding_unless(tensor.shape() == entry.shape && tensor.dtype() == dtype, "another tensor than the entry");
    const std::size_t stored_bytes = static_cast<std::size_t>(tensor.count()) * checkpoint::bytes_of(entry.type);
    finding_unless(stored_bytes == entry_bytes, "another size than the data");
  }
  return data_bytes;
}

}  // namespace

void run_safetensors(Input input) {
  try {
    const MemoryFile memory(input);
    const checkpoint::SafetensorsFile file(memory.path());
    const std::size_t data_bytes = read_everything(file);
    finding_unless(data_bytes + sizeof(std::uint64_t) <= input.size(), "more data than the file has");
  } catch (const FormatError&) {
  }
}

Seeds safetensors_seeds() {
  return {file_of("{}", 0),
          file_of(R"({"__metadata__":{"format":"pt"}})", 0),
          file_of(R"({"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})", 24),
          file_of(R"({"__metadata__":{"a":"b"},"b":{"dtype":"BF16","shape":[],"data_offsets":[8,10]},)"
                  R"("a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
                  R"("c":{"dtype":"U8","shape":[0,4],"data_offsets":[10,10]}}  )",
                  10),
          file_of(R"({"h":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},)"
                  R"("m":{"dtype":"BOOL","shape":[1,1,2,2],"data_offsets":[4,8]}})",
                  8),
          file_of(R"({"m":{"dtype":"I8","shape":[3],"data_offsets":[0,3]}})", 3),
          file_of(R"({"w":{"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0),
          file_of(R"({"w":{"dtype":"I32","shape":[[[[[[[[[[1]]]]]]]]]],"data_offsets":[0,4]}})", 4)};
}

void run_manifest(Input input) {
  try {
    const checkpoint::Manifest manifest = checkpoint::parse_manifest(net::to_text(input), "manifest.json");
    finding_unless(manifest.step >= 0 && manifest.files.size() >= 3, "a manifest that is none");
    for (const checkpoint::FileEntry& file : manifest.files)
      finding_unless((fs::path("folder") / file.name).parent_path() == "folder" && file.xxh3.size() == 16,
                     "a file outside the folder, or no checksum");
    const std::string text = checkpoint::to_text(manifest);
    finding_unless(checkpoint::parse_manifest(text, "manifest.json") == manifest, "reading again reads otherwise");
  } catch (const FormatError&) {
  }
}

Seeds manifest_seeds() {
  const std::string hash = "2d06800538d394c2";
  const checkpoint::Manifest manifest{.step = 500,
                                      .files = {{checkpoint::kModelFile, 123, hash},
                                                {checkpoint::kOptimizerFile, 0, hash},
                                                {checkpoint::kStateFile, 1ULL << 40, hash}}};
  std::string outside = checkpoint::to_text(manifest);
  outside.replace(outside.find(checkpoint::kStateFile), std::strlen(checkpoint::kStateFile), "../state.json");
  return {bytes_of_text(checkpoint::to_text(manifest)), bytes_of_text(outside),
          bytes_of_text(R"({"format": "lockstep checkpoint 1", "step": 1, "files": []})"),
          bytes_of_text(std::string(40, '[') + std::string(40, ']'))};
}

void run_saved_state(Input input) {
  try {
    const nlohmann::json json = checkpoint::parse_json(net::to_text(input), "state.json");
    const run::SavedState state = run::saved_state_from(json, "state.json");
    finding_unless(state.step >= 0 && state.optimizer_steps.steps >= 0 && state.sampler.epoch >= 0, "a negative count");
    for (const auto& [name, updates] : state.optimizer_steps.fewer) {
      finding_unless(updates >= 0 && updates <= state.optimizer_steps.steps, "more updates than steps");
    }
    const run::SavedState again = run::saved_state_from(run::to_json(state), "state.json");
    finding_unless(again.sampler == state.sampler && again.step == state.step && again.options == state.options &&
                       again.optimizer_steps.fewer == state.optimizer_steps.fewer,
                   "reading again reads otherwise");
  } catch (const FormatError&) {
  }
}

Seeds saved_state_seeds() {
  run::SavedState state;
  state.step = 7;
  state.optimizer_steps = {.steps = 7, .fewer = {{"head", 3}}};
  state.sampler = {.seed = 1ULL << 63, .epoch = 2, .consumed = 30, .dataset_size = 59};
  state.options = {{"model", "tiny"}, {"learning_rate", 2e-3}};
  return {bytes_of_text(dump_json(run::to_json(state))), bytes_of_text(dump_json(run::to_json(state), 2)),
          bytes_of_text(R"({"step": -1, "optimizer_steps": 1e300, "sampler": [], "options": null})")};
}

}  // namespace lockstep::fuzz
