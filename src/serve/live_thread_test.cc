#include "serve/live_thread.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <string>

#include "base/files.h"
#include "samplestore/sample_store.h"

namespace assay::serve {
namespace {

TEST(LiveThreadTest, AStoreWhoseReadThrowsIsReadAgain) {
  const TemporaryDirectory folder = TemporaryDirectory::Create("live").value();
  const std::string url = "sqlite:///" + folder.path() + "/runs.db";
  ASSERT_TRUE(samplestore::OpenStore(url).ok());
  const StoreOpener open = OpenerOf(url);
  std::atomic<int> opened = 0;
  EventHub hub;
  LiveThread live(
      [&] {
        if (++opened == 1) {
          throw std::runtime_error("no number");
        }
        return open();
      },
      hub);
  while (opened < 2) {
    ASSERT_EQ(live.ended().wait_for(std::chrono::milliseconds(1)), std::future_status::timeout);
  }
}

}  // namespace
}  // namespace assay::serve
