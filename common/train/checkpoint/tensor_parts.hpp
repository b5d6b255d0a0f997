#pragma once
/// @file
/// Loading parts of a file's tensors: each rank reads its own elements and no others.
#include <span>
#include <vector>

#include "checkpoint/safetensors.hpp"
#include "tensor/named_part.hpp"

namespace lockstep::checkpoint {

/// The whole tensors of which these are parts, in their order.
/// @throws ContractError  A part has no tensor, or not as many elements as its slice.
[[nodiscard]] std::vector<TensorDescription> describe_wholes(std::span<const NamedPart> parts);

/// Checks that load_parts() with the same arguments would succeed.
/// @throws FormatError  As require_loadable(), for the whole tensors.
void require_parts_loadable(const SafetensorsFile& file, std::span<const NamedPart> destinations);

/// Fills every part, owned or not, from the file's whole tensor of that name; writes nothing unless all of them fit.
/// @param destinations  On any device; together all names of the file.
/// @throws FormatError  As require_parts_loadable().
/// @throws IoError, FormatError  As InputFile::read(); some of the parts may then have been written.
/// @cost   Reads the elements of the parts only. On the host they go straight to their places; to a device they take a
///         detour through 4 MiB of host memory.
void load_parts(const SafetensorsFile& file, std::span<const NamedPart> destinations);

}  // namespace lockstep::checkpoint
