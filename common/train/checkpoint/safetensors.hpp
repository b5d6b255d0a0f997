#pragma once
/// @file
/// Files of named tensors in the safetensors format, which Hugging Face and PyTorch tools read and write: 8 bytes
/// little-endian header length, a JSON header {name: {dtype, shape, data_offsets}}, then the elements.
/// @source  https://github.com/huggingface/safetensors, section "Format".
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/input_file.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/stored_type.hpp"
#include "tensor/named_tensor.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::checkpoint {

using lockstep::NamedTensor;  // saved from host memory; loaded to the tensor's device

/// Text stored with the tensors, under the key "__metadata__".
using Metadata = std::map<std::string, std::string>;

/// Longest header to read or write, as in the reference implementation.
inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

/// Writes a file, replacing an existing one, and fsyncs it.
/// @param tensors  On the host, names distinct; elements are stored little-endian in the order given.
/// @return         Size and checksum of the bytes as they were written.
/// @throws IoError        The file cannot be written.
/// @throws ContractError  A name twice, the name "__metadata__", or a tensor that is undefined or not on the host.
FileEntry write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                            const Metadata& metadata = {});

/// A tensor as a file describes it, without its elements.
struct TensorDescription {
  std::string name;
  Shape shape;
  DType dtype = DType::kFloat32;

  bool operator==(const TensorDescription&) const = default;
};

/// Appends the elements of one tensor to a file, all of them, row by row. May throw, which ends the writing.
/// @param index  Of the tensor, in the list of descriptions. Called once for each, in their order.
using WriteElements = std::function<void(FileWriter& file, std::size_t index)>;

/// Tensors to be written whose elements come while the file is written, for example from other ranks.
struct StreamedTensors {
  std::vector<TensorDescription> tensors = {};
  WriteElements write = {};
};

/// Writes a file, replacing an existing one, but does not wait for the disk: finish() of the result does.
/// @throws As write_safetensors(), and a ContractError if a tensor got more or fewer bytes than it has.
[[nodiscard]] FileWriter begin_safetensors(const std::filesystem::path& path, const StreamedTensors& content,
                                           const Metadata& metadata = {});

/// Called once the system has a tensor's elements: they may change from now on, although the disk may not have them
/// yet. May be empty. May throw, which ends the writing.
using OnTensorWritten = std::function<void(const NamedTensor&)>;

/// Tensors that this process has.
/// @param tensors     On any device. Must live until the result is used up.
/// @param on_written  Called for each of `tensors`, in their order.
[[nodiscard]] StreamedTensors stream(std::span<const NamedTensor> tensors, const OnTensorWritten& on_written = {});

/// One tensor's location in a file.
struct TensorEntry {
  std::string name;  ///< Unique in the file.
  StoredType type = StoredType::kF32;
  Shape shape;
  std::uint64_t begin = 0;  ///< First byte, counted from the end of the header.
  std::uint64_t end = 0;    ///< Past the last byte.
};

/// An open file. Its header is in memory; elements are read from disk on demand. Thread safety: const calls from any
/// thread.
class SafetensorsFile {
 public:
  /// Opens and checks the whole header: lengths, types, shapes, and offsets that cover the data without gap or overlap.
  /// @throws IoError      The file cannot be opened or read.
  /// @throws FormatError  Not a well-formed file; names file, tensor, expected and found. Recognizes other types: a Git
  ///                      LFS pointer, a web page, a compressed file.
  explicit SafetensorsFile(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return file_.path(); }
  [[nodiscard]] std::span<const TensorEntry> entries() const noexcept { return entries_; }  ///< In file order.
  /// The file's own key-value pairs.
  [[nodiscard]] const Metadata& metadata() const noexcept { return metadata_; }

  /// Null if there is no such entry.
  [[nodiscard]] const TensorEntry* find(const std::string& name) const noexcept;

  /// Fills `destination` with an entry's bytes, from its byte `offset` on.
  /// @pre     offset + destination.size() <= entry.end - entry.begin.
  /// @throws  As InputFile::read().
  void read_bytes(const TensorEntry& entry, std::uint64_t offset, std::span<std::byte> destination) const;

  /// Copies an entry's elements, converted if the types differ.
  /// @param destination  On the host, of the entry's count.
  /// @pre     widens_to(entry.type, destination.dtype()).
  /// @throws  As InputFile::read(); part of the elements may have been written.
  void read_elements(const TensorEntry& entry, const Tensor& destination) const;

  /// A copy of a tensor, of natural_dtype(). @throws FormatError  No such tensor, or one of a type that is not
  /// readable.
  [[nodiscard]] Tensor read(const std::string& name) const;

  /// Copies a tensor's elements to `destination`.
  /// @throws FormatError  No such tensor, or another shape or dtype.
  void read_into(const std::string& name, const Tensor& destination) const;

 private:
  InputFile file_;
  std::uint64_t data_begin_ = 0;  // end of the header
  std::vector<TensorEntry> entries_;
  std::map<std::string, std::size_t> index_by_name_;
  Metadata metadata_;
};

/// Whether a file may hold more tensors than requested.
enum class UnexpectedTensors { kReject, kIgnore };

/// Checks that load_tensors() with the same arguments would succeed.
/// @throws FormatError  Names that are missing or (kReject) unexpected, all listed; or another shape or dtype.
void require_loadable(const SafetensorsFile& file, std::span<const NamedTensor> destinations,
                      UnexpectedTensors unexpected = UnexpectedTensors::kReject);
/// The same for tensors of which only the descriptions are at hand.
void require_loadable(const SafetensorsFile& file, std::span<const TensorDescription> expected,
                      UnexpectedTensors unexpected = UnexpectedTensors::kReject);

/// Fills every tensor from the file's tensor of that name; writes nothing unless all of them fit. The elements go to
/// the device of the destination.
/// @throws FormatError  As require_loadable().
/// @throws IoError, FormatError  As InputFile::read(); some of the tensors may then have been written.
void load_tensors(const SafetensorsFile& file, std::span<const NamedTensor> destinations,
                  UnexpectedTensors unexpected = UnexpectedTensors::kReject);

}  // namespace lockstep::checkpoint
