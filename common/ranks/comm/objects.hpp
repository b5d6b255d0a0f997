#pragma once
/// @file
/// Collectives over texts and JSON values instead of buffers: what ranks tell each other that is not numbers.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "comm/process_group.hpp"

namespace lockstep::comm {

/// The longest text that is sent, an object's or any other: a length that arrives is checked against it before memory
/// is taken.
constexpr std::int64_t kMaxObjectBytes = std::int64_t{64} << 20;

/// Every rank gets the text of `root`, byte for byte: it may hold anything.
///
/// @param text   Of root; ignored elsewhere. May be empty.
/// @return       root's text.
/// @throws ContractError  Longer than kMaxObjectBytes. Before anything is sent.
/// @throws FormatError    The length that arrived is out of range.
/// @throws TimeoutError, MismatchError, PeerFailedError  As ProcessGroup::broadcast.
/// @cost   Two broadcasts: the length, then the text.
[[nodiscard]] std::string broadcast_text(ProcessGroup& group, std::string text, int root,
                                         const CollectiveOptions& options = {});

/// Every rank gets the object of `root`. JSON, never code: what arrives is parsed, nothing in it is run.
///
/// @param object   Of root; ignored elsewhere.
/// @return         root's object.
/// @throws ContractError  Longer than kMaxObjectBytes as text. Before anything is sent.
/// @throws FormatError    What arrived is no JSON text or too long.
/// @throws TimeoutError, MismatchError, PeerFailedError  As ProcessGroup::broadcast.
/// @cost   One broadcast_text.
[[nodiscard]] nlohmann::json broadcast_object(ProcessGroup& group, const nlohmann::json& object, int root,
                                              const CollectiveOptions& options = {});

/// Every rank gets the objects of all ranks, by rank.
/// @throws  As broadcast_object.
/// @cost    Two all_gathers: the lengths, then the texts, each as long as the longest.
[[nodiscard]] std::vector<nlohmann::json> all_gather_object(ProcessGroup& group, const nlohmann::json& object,
                                                            const CollectiveOptions& options = {});

}  // namespace lockstep::comm
