// Groups whose ranks are threads of a test.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "engine/comm/communicator.h"

namespace assay::engine::testing {

using Group = std::vector<std::unique_ptr<Communicator>>;

/// Runs `body` once a rank, each on a thread of its own, and gives what each threw.
inline std::vector<std::exception_ptr> run_ranks_to_end(const Group& group,
                                                        const std::function<void(Communicator&)>& body) {
  std::vector<std::exception_ptr> errors(group.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < group.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(*group[rank]);
      } catch (const std::exception&) {
        errors[rank] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return errors;
}

/// As above, and throws the first rank's exception, if there is one.
inline void run_ranks(const Group& group, const std::function<void(Communicator&)>& body) {
  for (const std::exception_ptr& error : run_ranks_to_end(group, body)) {
    if (error) {
      std::rethrow_exception(error);
    }
  }
}

}  // namespace assay::engine::testing
