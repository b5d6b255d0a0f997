#pragma once
/// @file
/// Given: the step of a ring of exercise 02.4 as its callers see it, and what it may use: one connection to send on,
/// and one to receive from. Nothing here does both at once.
#include <source_location>
#include <span>

#include "exercise/link.hpp"
#include "exercise/todo.hpp"

namespace lockstep::ring {

/// The connection to the next rank.
class Outgoing {
 public:
  /// @param link  Outlives this object.
  explicit Outgoing(exercise::Link& link) : link_(link) {}

  /// Returns when the kernel has taken all values: at once if they fit into its buffers, otherwise only while the other
  /// rank receives them. @throws IoError  The other rank has gone.
  void send(std::span<const float> values, const std::source_location& where = std::source_location::current()) const {
    link_.send(values, where);
  }

 private:
  exercise::Link& link_;
};

/// The connection from the previous rank.
class Incoming {
 public:
  /// @param link  Outlives this object.
  explicit Incoming(exercise::Link& link) : link_(link) {}

  /// Returns when all of `values` has arrived. @throws IoError  The other rank has gone.
  void receive(std::span<float> values, const std::source_location& where = std::source_location::current()) const {
    link_.receive(values, where);
  }

 private:
  exercise::Link& link_;
};

/// One rank's place in the circle, with connections that work in one direction only.
struct OneWayNeighbours {
  int rank;           ///< This rank.
  int world_size;     ///< How many there are.
  Outgoing next;      ///< To rank + 1, or from the last rank to rank 0.
  Incoming previous;  ///< From rank - 1, or to rank 0 from the last rank.
};

/// One step of a ring: every rank sends its values to the next rank, and receives those of the previous one.
///
/// @param outgoing  What the next rank gets; the same count on all ranks, may be empty.
/// @param incoming  Filled with what the previous rank sends; the same count. Does not overlap `outgoing`.
/// @param place     This rank's neighbours. With one rank, which is its own neighbour, the values are copied.
/// @cost  One message sent and one received. At most three messages one after the other, whatever the world size: ranks
///        that are not neighbours do not wait for each other.
void shift(std::span<const float> outgoing, std::span<float> incoming, const OneWayNeighbours& place);

}  // namespace lockstep::ring
