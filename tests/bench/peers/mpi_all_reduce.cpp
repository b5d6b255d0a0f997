// Times MPI_Allreduce (float32 sum, in place) with the protocol of ../all_reduce_bench.cpp.
// Build: mpicxx.openmpi -O3 mpi_all_reduce.cpp -o mpi_all_reduce; run: mpirun -np 2 ./mpi_all_reduce "Open MPI"
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace {

double seconds_per_call(std::vector<float>& values, long calls) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (long i = 0; i < calls; ++i) {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
  double own = (MPI_Wtime() - begin) / static_cast<double>(calls);
  double slowest = 0;
  MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, world_size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  for (const std::size_t bytes : {1UL << 10, 16UL << 10, 256UL << 10, 4UL << 20, 64UL << 20}) {
    std::vector<float> values(bytes / sizeof(float), 0.0F);
    long calls = 3;
    std::vector<double> rounds;
    for (int round = -2; round < 7; ++round) {
      const double seconds = seconds_per_call(values, calls);
      if (round < 0) {
        calls = std::clamp(static_cast<long>(0.15 / seconds), 2L, 20000L);
      } else {
        rounds.push_back(seconds);
      }
    }
    std::sort(rounds.begin(), rounds.end());
    if (rank == 0) {
      std::printf("%s,%d,%zu,%.2f\n", argc > 1 ? argv[1] : "MPI", world_size, bytes, rounds[rounds.size() / 2] * 1e6);
      std::fflush(stdout);
    }
  }
  MPI_Finalize();
}
