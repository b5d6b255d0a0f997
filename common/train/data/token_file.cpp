#include "data/token_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/sha256.hpp"

namespace lockstep::data {

namespace fs = std::filesystem;

namespace {

static_assert(std::endian::native == std::endian::little, "token files are little-endian and read as they are");

std::int64_t offset_of(std::int64_t token) { return kTokenFileHeaderBytes + token * kTokenBytes; }

UniqueFd open_file(const fs::path& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) throw IoError(concat("opening ", path.string()), errno);
  return fd;
}

struct stat status_of(int fd, const fs::path& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw IoError(concat("reading the size of ", path.string()), errno);
  if (!S_ISREG(status.st_mode)) throw IoError(concat(path.string(), " is a folder or a device; name a file"));
  return status;
}

// Reads until `bytes` is full or the file ends. Returns the number of bytes read.
std::int64_t read_at(int fd, std::span<std::byte> bytes, std::int64_t offset, const fs::path& path) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const std::int64_t at = offset + static_cast<std::int64_t>(done);
    const ssize_t count = ::pread(fd, bytes.data() + done, bytes.size() - done, at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw IoError(concat("reading ", path.string(), " at offset ", at), errno);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return static_cast<std::int64_t>(done);
}

struct FreeState {
  void operator()(XXH3_state_t* state) const noexcept { XXH3_freeState(state); }
};

std::string fingerprint_of(int fd, const fs::path& path) {
  const std::unique_ptr<XXH3_state_t, FreeState> state(XXH3_createState());
  if (state == nullptr) throw Error("out of memory for a checksum");
  XXH3_128bits_reset(state.get());
  std::vector<std::byte> piece(1 << 20);
  std::int64_t bytes = 0;
  while (const std::int64_t got = read_at(fd, piece, bytes, path)) {
    XXH3_128bits_update(state.get(), piece.data(), static_cast<std::size_t>(got));
    bytes += got;
  }
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(state.get()));
  return concat("xxh3 ", hex_digits(digest.digest), " of ", bytes, " bytes");
}

}  // namespace

TokenFile::TokenFile(fs::path path) : path_(std::move(path)), fd_(open_file(path_)) {
  const struct stat status = status_of(fd_.get(), path_);
  bytes_ = status.st_size;
  modified_ = status.st_mtim;
  std::vector<std::byte> header(static_cast<std::size_t>(kTokenFileHeaderBytes));
  header.resize(static_cast<std::size_t>(read_at(fd_.get(), header, 0, path_)));
  token_count_ = parse_token_file_header(header, bytes_, path_.string());
  fingerprint_ = fingerprint_of(fd_.get(), path_);
}

void TokenFile::require_unchanged(std::int64_t offset) const {
  const struct stat now = status_of(fd_.get(), path_);
  const std::lock_guard lock(mutex_);
  const auto is_at = [&now](const timespec& time) {
    return now.st_mtim.tv_sec == time.tv_sec && now.st_mtim.tv_nsec == time.tv_nsec;
  };
  if (now.st_size == bytes_ && is_at(modified_)) return;
  // A copy with the same bytes, a restored backup or `touch` changes the time alone, so compare the content.
  if (now.st_size == bytes_ && fingerprint_of(fd_.get(), path_) == fingerprint_) {
    modified_ = now.st_mtim;
    return;
  }
  throw FormatError(concat(path_.string(), " has changed since it was opened (", bytes_, " bytes then, ", now.st_size,
                           " now), found while reading at offset ", offset,
                           ": restore it and go on with --resume, or start a new run"));
}

void TokenFile::read(std::int64_t first, std::span<std::uint16_t> tokens) const {
  const auto count = static_cast<std::int64_t>(tokens.size());
  require(first >= 0 && count <= token_count_ && first <= token_count_ - count, "tokens ", first, " to ", first + count,
          " of a file with ", token_count_);
  const std::int64_t offset = offset_of(first);
  const std::int64_t got = read_at(fd_.get(), std::as_writable_bytes(tokens), offset, path_);
  require_unchanged(offset);  // checked after the read, so that its bytes are from the file as it was opened
  if (got < count * kTokenBytes) {
    throw IoError(concat(path_.string(), " ended at offset ", offset + got, " of ", bytes_,
                         " bytes; is its file system intact?"));
  }
}

TokenFileDataset::TokenFileDataset(std::shared_ptr<const TokenFile> file, const Options& options)
    : file_(std::move(file)),
      options_(options),
      windows_({.token_count = options.token_count,
                .context_length = options.context_length,
                .placement = options.placement,
                .seed = options.seed},
               file_->path().string()) {
  require(options.first_token >= 0 && options.token_count >= 0 &&
              options.first_token <= file_->token_count() - options.token_count,
          "tokens ", options.first_token, " and ", options.token_count, " more of a file with ", file_->token_count());
}

Batch TokenFileDataset::batch_of_epoch(std::span<const std::int64_t> indices, std::int64_t epoch) const {
  const std::int64_t context_length = options_.context_length;
  const auto batch_size = static_cast<std::int64_t>(indices.size());
  Batch batch{.inputs = Tensor::empty({batch_size, context_length}, DType::kInt32),
              .targets = Tensor::empty({batch_size, context_length}, DType::kInt32),
              .sample_ids = Tensor::from(indices, {batch_size})};
  auto input = batch.inputs.span<std::int32_t>().begin(), target = batch.targets.span<std::int32_t>().begin();
  std::vector<std::uint16_t> window(static_cast<std::size_t>(context_length) + 1);  // + 1: the last target
  for (const std::int64_t index : indices) {
    const std::int64_t first = options_.first_token + windows_.first_token(index, epoch);
    file_->read(first, window);
    require_known(window, first);
    input = std::copy(window.begin(), window.end() - 1, input);
    target = std::copy(window.begin() + 1, window.end(), target);
  }
  return batch;
}

void TokenFileDataset::require_known(std::span<const std::uint16_t> tokens, std::int64_t first) const {
  const auto unknown = std::ranges::find_if(tokens, [&](std::uint16_t id) { return id >= options_.vocabulary_size; });
  if (unknown == tokens.end()) return;
  throw FormatError(concat(file_->path().string(), " has the token ", *unknown, " at offset ",
                           offset_of(first + (unknown - tokens.begin())), ", but the model's vocabulary has ",
                           options_.vocabulary_size, ": use --vocabulary-size with the number of the file's tokenizer ",
                           "(50257 for GPT-2's), or a model that has it"));
}

void write_token_file(const fs::path& path, std::span<const std::int32_t> ids) {
  const auto count = static_cast<std::int64_t>(ids.size());
  if (count < 1 || count > kMostTokensOfFile) {
    throw FormatError(concat(path.string(), ": a token file has 1 to ", kMostTokensOfFile, " tokens, not ", count));
  }
  const std::vector<std::byte> header = token_file_header(count);
  std::string bytes(reinterpret_cast<const char*>(header.data()), header.size());
  bytes.reserve(bytes.size() + ids.size() * 2);
  for (const std::int32_t id : ids) {
    if (id < 0 || id > UINT16_MAX) {
      throw FormatError(concat(path.string(), ": the token ", id, " does not fit into two bytes; ",
                               "use a tokenizer with at most 65536 tokens"));
    }
    bytes += static_cast<char>(id & 0xFF);
    bytes += static_cast<char>(id >> 8);
  }
  const fs::path temporary = path.string() + "." + std::to_string(::getpid());
  try {
    write_file(temporary, bytes);
    if (std::rename(temporary.c_str(), path.c_str()) != 0) {
      throw IoError(
          concat("cannot replace ", path.string(), " with the finished file (remove it, or name another file)"), errno);
    }
  } catch (...) {  // a full disk would stay full
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw;
  }
}

std::string file_fingerprint(const fs::path& path) {
  const UniqueFd fd = open_file(path);
  (void)status_of(fd.get(), path);
  return fingerprint_of(fd.get(), path);
}

std::string sampled_fingerprint(const fs::path& path) {
  constexpr std::int64_t kBlocks = 64, kBlockBytes = 4096;
  const UniqueFd fd = open_file(path);
  const std::int64_t bytes = status_of(fd.get(), path).st_size;
  const std::int64_t stride = std::max(kBlockBytes, bytes / kBlocks);
  std::string sampled = std::to_string(bytes) + "\n";
  std::array<std::byte, kBlockBytes> block{};
  for (std::int64_t offset = 0; offset < bytes; offset += stride) {
    const std::int64_t got = read_at(fd.get(), block, offset, path);
    sampled.append(reinterpret_cast<const char*>(block.data()), static_cast<std::size_t>(got));
  }
  return sha256_hex(sampled);
}

}  // namespace lockstep::data
