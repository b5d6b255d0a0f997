#pragma once
/// @file
/// Collectives over JSON values instead of buffers: what ranks tell each other that is not numbers.
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "comm/process_group.hpp"

namespace lockstep::comm {

/// The longest text of an object that is sent: a length that arrives is checked against it before memory is taken.
constexpr std::int64_t kMaxObjectBytes = std::int64_t{64} << 20;

/// Every rank gets the object of `root`. JSON, never code: what arrives is parsed, nothing in it is run.
///
/// @param object   Of root; ignored elsewhere.
/// @return         root's object.
/// @throws ContractError  Longer than kMaxObjectBytes as text. Before anything is sent.
/// @throws FormatError    What arrived is no JSON text or too long.
/// @throws TimeoutError, MismatchError, PeerFailedError  As ProcessGroup::broadcast.
/// @cost   Two broadcasts: the length, then the text.
[[nodiscard]] nlohmann::json broadcast_object(ProcessGroup& group, const nlohmann::json& object, int root,
                                              const CollectiveOptions& options = {});

/// Every rank gets the objects of all ranks, by rank.
/// @throws  As broadcast_object.
/// @cost    Two all_gathers: the lengths, then the texts, each as long as the longest.
[[nodiscard]] std::vector<nlohmann::json> all_gather_object(ProcessGroup& group, const nlohmann::json& object,
                                                            const CollectiveOptions& options = {});

}  // namespace lockstep::comm
