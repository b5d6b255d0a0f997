#pragma once
/// @file
/// Collectives over texts and JSON values instead of buffers: for data that is not numeric.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "comm/process_group.hpp"

namespace lockstep::comm {

/// Limit on the length of a text. A received length is checked against it before memory is allocated.
constexpr std::int64_t kMaxObjectBytes = std::int64_t{64} << 20;

/// Every rank gets the text of `root`, which may contain any bytes.
///
/// @param text   Of root; ignored elsewhere. May be empty.
/// @return       root's text.
/// @throws ContractError  Longer than kMaxObjectBytes; nothing has been sent.
/// @throws FormatError    The received length is out of range.
/// @throws TimeoutError, MismatchError, PeerFailedError  As ProcessGroup::broadcast.
/// @cost   Two broadcasts: the length, then the text.
[[nodiscard]] std::string broadcast_text(ProcessGroup& group, std::string text, int root,
                                         const CollectiveOptions& options = {});

/// Every rank gets the object of `root`. It is JSON, never code: received text is parsed, not executed.
///
/// @param object   Of root; ignored elsewhere.
/// @return         root's object.
/// @throws ContractError  Longer than kMaxObjectBytes as text; nothing has been sent.
/// @throws FormatError    The received text is not JSON, or too long.
/// @throws TimeoutError, MismatchError, PeerFailedError  As ProcessGroup::broadcast.
/// @cost   One broadcast_text.
[[nodiscard]] nlohmann::json broadcast_object(ProcessGroup& group, const nlohmann::json& object, int root,
                                              const CollectiveOptions& options = {});

/// Every rank gets the objects of all ranks, by rank.
/// @throws  As broadcast_object.
/// @cost    Two all_gathers: the lengths, then the texts, padded to the longest.
[[nodiscard]] std::vector<nlohmann::json> all_gather_object(ProcessGroup& group, const nlohmann::json& object,
                                                            const CollectiveOptions& options = {});

}  // namespace lockstep::comm
