#include "checkpoint/tensor_parts.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace lockstep::checkpoint {
namespace {

constexpr std::int64_t kStagedBytes = std::int64_t{4} << 20;  // on the way to a device

// The file's elements of `run`, as [run.count()] on the host.
void read_run(const SafetensorsFile& file, const TensorEntry& entry, Range run, const Tensor& destination) {
  const std::size_t element_bytes = bytes_of(destination.dtype());
  file.read_bytes(entry, static_cast<std::uint64_t>(run.begin) * element_bytes,
                  {static_cast<std::byte*>(destination.data()), static_cast<std::size_t>(destination.bytes())});
}

void load_part(const SafetensorsFile& file, const NamedPart& part) {
  const TensorEntry& entry = *file.find(part.name);
  const Tensor elements = part.tensor.reshape({part.tensor.count()});
  const bool is_on_host = elements.device().is_cpu();
  const std::int64_t at_once =
      is_on_host ? elements.count() : kStagedBytes / static_cast<std::int64_t>(bytes_of(elements.dtype()));
  std::int64_t filled = 0;
  part.slice.for_each_run([&](Range run) {
    while (run.count() > 0) {
      const Range piece{run.begin, std::min(run.begin + at_once, run.end)};
      const Tensor place = elements.rows(filled, filled + piece.count());
      const Tensor host = is_on_host ? place : Tensor::empty(place.shape(), place.dtype());
      read_run(file, entry, piece, host);
      if (!is_on_host) place.copy_from(host);
      filled += piece.count();
      run.begin = piece.end;
    }
  });
}

}  // namespace

std::vector<TensorDescription> describe_wholes(std::span<const NamedPart> parts) {
  std::vector<TensorDescription> wholes;
  for (const NamedPart& part : parts) {
    require(part.tensor.is_defined() && part.tensor.count() == part.slice.count(), "a part of ", part.name, " ",
            part.slice.whole, " has ", part.tensor.count(), " elements, its slice ", part.slice.count());
    wholes.push_back({part.name, part.slice.whole, part.tensor.dtype()});
  }
  return wholes;
}

void require_parts_loadable(const SafetensorsFile& file, std::span<const NamedPart> destinations) {
  require_loadable(file, describe_wholes(destinations));
}

void load_parts(const SafetensorsFile& file, std::span<const NamedPart> destinations) {
  require_parts_loadable(file, destinations);
  for (const NamedPart& part : destinations) load_part(file, part);
}

}  // namespace lockstep::checkpoint
