#include "engine/train/request_meter.h"

#include <gtest/gtest.h>

namespace assay::engine {
namespace {

RequestTotals Counted(const storage::RequestRecord& record) {
  RequestMeter meter;
  meter.OnRequest(record);
  return meter.totals();
}

TEST(RequestMeterTest, CountsWhatIsBilled) {
  EXPECT_EQ(Counted({.operation = "get", .method = "GET", .http_status = 206}).reads, 1);
  EXPECT_EQ(Counted({.operation = "look at", .method = "HEAD", .http_status = 404}).reads, 1);
  EXPECT_EQ(Counted({.operation = "put part", .method = "PUT", .http_status = 200}).writes, 1);
  const RequestTotals listed = Counted({.operation = "list", .method = "GET", .http_status = 200});
  EXPECT_EQ(listed.writes, 1);
  EXPECT_EQ(listed.reads, 0);
}

TEST(RequestMeterTest, LeavesOutWhatIsNot) {
  EXPECT_EQ(
      Counted({.operation = "remove 3 objects of which the first is", .method = "POST", .http_status = 200}).writes, 0);
  EXPECT_EQ(Counted({.operation = "put", .method = "PUT", .http_status = 503}).writes, 0);
  const RequestTotals lost = Counted({.operation = "get", .method = "GET", .attempt = 2, .bytes_received = 7});
  EXPECT_EQ(lost.reads, 0);
  EXPECT_EQ(lost.retries, 1);
  EXPECT_EQ(lost.received_bytes, 7);
}

}  // namespace
}  // namespace assay::engine
