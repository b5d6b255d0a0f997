#include "checkpoint/safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/foreign_file.hpp"
#include "base/json.hpp"

namespace lockstep::checkpoint {

static_assert(std::endian::native == std::endian::little, "elements are written and read without swapping bytes");

namespace {

using nlohmann::json;

constexpr const char* kMetadataKey = "__metadata__";
constexpr std::size_t kLengthBytes = 8;
constexpr int kMaxHeaderDepth = 8;  // {name: {shape: [...]}} has 3; without a limit, brackets alone exhaust the stack

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Every error in a header is reported with the file's and the tensor's name.
class HeaderParser {
 public:
  explicit HeaderParser(const InputFile& file) : file_(file) {}

  // Reads the header's text and checks the lengths.
  [[nodiscard]] std::string header_text() const {
    if (file_.bytes() < kLengthBytes) {
      require_no_foreign_file();
      fail("has ", file_.bytes(), " bytes, fewer than the ", kLengthBytes, " of a header length");
    }
    std::uint64_t header_bytes = 0;
    file_.read(0, std::as_writable_bytes(std::span(&header_bytes, 1)));
    const std::uint64_t available = file_.bytes() - kLengthBytes;
    if (header_bytes > kMaxHeaderBytes || header_bytes > available) require_no_foreign_file();
    if (header_bytes > kMaxHeaderBytes)
      fail("claims a header of ", header_bytes, " bytes, more than the ", kMaxHeaderBytes, " allowed");
    if (header_bytes > available) fail("claims a header of ", header_bytes, " bytes, but only ", available, " follow");
    std::string text(header_bytes, '\0');
    file_.read(kLengthBytes, std::as_writable_bytes(std::span(text)));
    return text;
  }

  [[nodiscard]] json parse(std::string_view text) const {
    if (text.empty() || text.front() != '{') {
      require_no_foreign_file();
      fail("has a header that does not begin with '{'");
    }
    std::set<std::string> keys;
    const auto reject_repeated = [&](int depth, json::parse_event_t event, json& value) {
      if (depth > kMaxHeaderDepth) fail("has a header nested deeper than ", kMaxHeaderDepth);
      if (depth == 1 && event == json::parse_event_t::key && !keys.insert(value.get<std::string>()).second)
        fail("names ", value.get<std::string>(), " twice");
      return true;
    };
    try {
      return json::parse(text, reject_repeated);
    } catch (const json::exception& error) {
      fail("has a header that is not JSON: ", error.what());
    }
  }

  [[nodiscard]] Metadata metadata(const json& value) const {
    Metadata metadata;
    if (!value.is_object()) fail(kMetadataKey, " is not an object");
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) fail(kMetadataKey, " entry ", key, " is not a string");
      metadata[key] = text.get<std::string>();
    }
    return metadata;
  }

  [[nodiscard]] TensorEntry entry(const std::string& name, const json& value) const {
    if (!value.is_object() || value.size() != 3 || !value.contains("dtype") || !value.contains("shape") ||
        !value.contains("data_offsets"))
      fail("tensor ", name, ": expected exactly dtype, shape and data_offsets");
    TensorEntry entry;
    entry.name = name;
    entry.type = type(name, value["dtype"]);
    std::vector<std::int64_t> sizes;
    std::uint64_t expected_bytes = bytes_of(entry.type);
    for (const std::uint64_t size : numbers(name, "shape", value["shape"])) {
      if (size > INT64_MAX || __builtin_mul_overflow(expected_bytes, size, &expected_bytes) ||
          expected_bytes > INT64_MAX)
        fail("tensor ", name, ": shape ", dump_json(value["shape"]), " has too many elements");
      sizes.push_back(static_cast<std::int64_t>(size));
    }
    if (sizes.size() > Shape::kMaxRank)
      fail("tensor ", name, ": ", sizes.size(), " dimensions, at most ", Shape::kMaxRank, " are supported");
    entry.shape = Shape(sizes);
    const std::vector<std::uint64_t> offsets = numbers(name, "data_offsets", value["data_offsets"]);
    if (offsets.size() != 2 || offsets[0] > offsets[1])
      fail("tensor ", name, ": data_offsets ", dump_json(value["data_offsets"]), " are not a begin and an end");
    entry.begin = offsets[0];
    entry.end = offsets[1];
    if (entry.end - entry.begin != expected_bytes)
      fail("tensor ", name, ": ", name_of(entry.type), " of shape ", entry.shape, " takes ", expected_bytes,
           " bytes, data_offsets give ", entry.end - entry.begin);
    return entry;
  }

  // Sorts entries by offset and checks that they fill the data exactly.
  void check_layout(std::vector<TensorEntry>& entries, std::uint64_t data_bytes) const {
    std::ranges::sort(entries, {}, [](const TensorEntry& entry) { return std::pair(entry.begin, entry.end); });
    std::uint64_t filled = 0;
    for (const TensorEntry& entry : entries) {
      if (entry.begin != filled)
        fail("tensor ", entry.name, ": begins at byte ", entry.begin, " where byte ", filled, " is expected (",
             entry.begin < filled ? "it overlaps another" : "a gap", ")");
      filled = entry.end;
    }
    if (filled != data_bytes) fail("holds ", data_bytes, " bytes of data, its header describes ", filled);
  }

 private:
  template <typename... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    throw FormatError(concat(file_.path().string(), ": ", parts...));
  }

  // For a malformed file: whether it is a well-known other type.
  void require_no_foreign_file() const {
    const auto foreign = explain_foreign_file(file_.beginning(kForeignBytes), file_.path().filename().string());
    if (foreign) throw FormatError(concat(file_.path().string(), " ", foreign->explanation));
  }

  [[nodiscard]] StoredType type(const std::string& name, const json& value) const {
    const auto known = value.is_string() ? parse_stored_type(value.get_ref<const std::string&>()) : std::nullopt;
    if (known) return *known;
    fail("tensor ", name, ": type ", dump_json(value), " is not one of ", stored_type_names());
  }

  [[nodiscard]] std::vector<std::uint64_t> numbers(const std::string& name, const char* key, const json& value) const {
    std::vector<std::uint64_t> result;
    if (!value.is_array()) fail("tensor ", name, ": ", key, " is not a list");
    for (const json& number : value) {
      if (!number.is_number_unsigned()) fail("tensor ", name, ": ", key, " ", dump_json(value), " has a wrong number");
      result.push_back(number.get<std::uint64_t>());
    }
    return result;
  }

  const InputFile& file_;
};

// @param purpose  For the message: "saving", "loading".
std::vector<TensorDescription> describe(std::span<const NamedTensor> tensors, std::string_view purpose) {
  std::vector<TensorDescription> descriptions;
  for (const auto& [name, tensor] : tensors) {
    require(tensor.is_defined(), purpose, " tensor ", name, ": it is undefined");
    descriptions.push_back({name, tensor.shape(), tensor.dtype()});
  }
  return descriptions;
}

std::uint64_t byte_count(const TensorDescription& tensor) {
  return static_cast<std::uint64_t>(tensor.shape.count()) * bytes_of(tensor.dtype);
}

std::string make_header(std::span<const TensorDescription> tensors, const Metadata& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[kMetadataKey] = metadata;
  std::uint64_t offset = 0;
  for (const TensorDescription& tensor : tensors) {
    const std::string& name = tensor.name;
    require(name != kMetadataKey && !header.contains(name), "saving tensor ", name, ": the name is taken");
    const std::uint64_t end = offset + byte_count(tensor);
    header[name] = {{"dtype", name_of(stored_type_of(tensor.dtype))},
                    {"shape", tensor.shape.dimensions()},
                    {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = dump_json(header);
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');  // the data begins at a multiple of 8
  return text;
}

}  // namespace

FileEntry write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                            const Metadata& metadata) {
  return begin_safetensors(path, stream(tensors), metadata).finish();
}

StreamedTensors stream(std::span<const NamedTensor> tensors, const OnTensorWritten& on_written) {
  return {describe(tensors, "saving"), [tensors, on_written](FileWriter& file, std::size_t index) {
            const Tensor on_host = tensors[index].tensor.to(Device{});
            file.write({static_cast<const char*>(on_host.const_data()), static_cast<std::size_t>(on_host.bytes())});
            if (on_written) on_written(tensors[index]);
          }};
}

FileWriter begin_safetensors(const std::filesystem::path& path, const StreamedTensors& content,
                             const Metadata& metadata) {
  const std::string header = make_header(content.tensors, metadata);
  require(header.size() <= kMaxHeaderBytes, "saving ", path.string(), ": a header of ", header.size(), " bytes");
  FileWriter file(path);
  const std::uint64_t header_bytes = header.size();
  file.write(as_text(std::as_bytes(std::span(&header_bytes, 1))));
  file.write(header);
  for (std::size_t i = 0; i < content.tensors.size(); ++i) {
    const std::uint64_t begin = file.bytes(), expected = byte_count(content.tensors[i]);
    content.write(file, i);
    require(file.bytes() - begin == expected, "saving tensor ", content.tensors[i].name, ": ", file.bytes() - begin,
            " bytes were written of ", expected);
  }
  return file;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : file_(path) {
  const HeaderParser parser(file_);
  const std::string text = parser.header_text();
  data_begin_ = kLengthBytes + text.size();
  const json header = parser.parse(text);
  for (const auto& [name, value] : header.items()) {
    if (name == kMetadataKey)
      metadata_ = parser.metadata(value);
    else
      entries_.push_back(parser.entry(name, value));
  }
  parser.check_layout(entries_, file_.bytes() - data_begin_);
  for (std::size_t i = 0; i < entries_.size(); ++i) index_by_name_[entries_[i].name] = i;
}

const TensorEntry* SafetensorsFile::find(const std::string& name) const noexcept {
  const auto found = index_by_name_.find(name);
  return found == index_by_name_.end() ? nullptr : &entries_[found->second];
}

void SafetensorsFile::read_bytes(const TensorEntry& entry, std::uint64_t offset,
                                 std::span<std::byte> destination) const {
  file_.read(data_begin_ + entry.begin + offset, destination);
}

void SafetensorsFile::read_elements(const TensorEntry& entry, const Tensor& destination) const {
  const std::int64_t count = destination.count();
  if (count == 0) return;
  const std::size_t element_bytes = bytes_of(entry.type);
  if (element_bytes == bytes_of(destination.dtype())) {  // the same bits: no conversion buffer
    read_bytes(entry, 0,
               {static_cast<std::byte*>(destination.data()), static_cast<std::size_t>(count) * element_bytes});
    return;
  }
  constexpr std::int64_t kElementsAtOnce = 1 << 18;
  std::vector<std::byte> piece;
  for (std::int64_t begin = 0; begin < count; begin += kElementsAtOnce) {
    const std::int64_t end = std::min(count, begin + kElementsAtOnce);
    piece.resize(static_cast<std::size_t>(end - begin) * element_bytes);
    read_bytes(entry, static_cast<std::uint64_t>(begin) * element_bytes, piece);
    widen_into(destination.reshape({count}).rows(begin, end), entry.type, piece);
  }
}

Tensor SafetensorsFile::read(const std::string& name) const {
  const TensorEntry* entry = find(name);
  if (entry == nullptr) throw FormatError(concat(path().string(), ": no tensor ", name));
  if (!is_readable(entry->type))
    throw FormatError(
        concat(path().string(), ": tensor ", name, " is ", word_for(entry->type), ", which is not read here"));
  Tensor tensor = Tensor::empty(entry->shape, natural_dtype(entry->type));
  read_elements(*entry, tensor);
  return tensor;
}

void SafetensorsFile::read_into(const std::string& name, const Tensor& destination) const {
  const NamedTensor named{name, destination};
  load_tensors(*this, {&named, 1}, UnexpectedTensors::kIgnore);
}

namespace {

// "a, b, c, ... (12 more)": a wrong model has hundreds of wrong names.
std::string list_names(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 8;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) list += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kShown) list += concat(", ... (", names.size() - kShown, " more)");
  return list;
}

// DistributedDataParallel puts "module." before a model's names, here as in PyTorch; torch.compile() puts "_orig_mod.".
std::string hint_at_wrapper(const SafetensorsFile& file, const std::vector<std::string>& missing) {
  for (const std::string prefix : {"module.", "_orig_mod.", "module._orig_mod.", "_orig_mod.module."}) {
    const auto is_wrapped = [&](const std::string& name) { return file.find(prefix + name) != nullptr; };
    if (!std::ranges::all_of(missing, is_wrapped)) continue;
    return concat(
        "; the file has them with \"", prefix, "\" before each name: the model was saved without unwrapping ",
        "it from DistributedDataParallel or torch.compile(). Save what module() returns (in PyTorch: .module ",
        "and ._orig_mod)");
  }
  return "";
}

}  // namespace

void require_loadable(const SafetensorsFile& file, std::span<const TensorDescription> expected,
                      UnexpectedTensors unexpected) {
  std::vector<std::string> missing, surplus;
  std::set<std::string> wanted;
  for (const auto& [name, shape, dtype] : expected) {
    wanted.insert(name);
    const TensorEntry* entry = file.find(name);
    if (entry == nullptr)
      missing.push_back(name);
    else if (entry->shape != shape || entry->type != stored_type_of(dtype))
      throw FormatError(concat(file.path().string(), ": tensor ", name, " is ", word_for(entry->type), " ",
                               entry->shape, ", expected ", dtype, " ", shape));
  }
  for (const TensorEntry& entry : file.entries())
    if (!wanted.contains(entry.name)) surplus.push_back(entry.name);
  if (!missing.empty())
    throw FormatError(concat(file.path().string(), ": ", missing.size(), " tensors are missing: ", list_names(missing),
                             hint_at_wrapper(file, missing)));
  if (unexpected == UnexpectedTensors::kReject && !surplus.empty())
    throw FormatError(
        concat(file.path().string(), ": ", surplus.size(), " tensors are not expected: ", list_names(surplus)));
}

void require_loadable(const SafetensorsFile& file, std::span<const NamedTensor> destinations,
                      UnexpectedTensors unexpected) {
  require_loadable(file, describe(destinations, "loading"), unexpected);
}

void load_tensors(const SafetensorsFile& file, std::span<const NamedTensor> destinations,
                  UnexpectedTensors unexpected) {
  require_loadable(file, destinations, unexpected);
  for (const auto& [name, tensor] : destinations) {
    if (tensor.device().is_cpu())
      file.read_elements(*file.find(name), tensor);
    else
      tensor.copy_from(file.read(name));  // copies to the tensor's own device
  }
}

}  // namespace lockstep::checkpoint
