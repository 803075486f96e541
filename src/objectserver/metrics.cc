#include "objectserver/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace assay::objectserver {
namespace {

void AppendHead(std::string& text, const char* name, const char* type, const char* help) {
  fmt::format_to(std::back_inserter(text), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void AppendValue(std::string& text, const char* name, const char* type, const char* help, int64_t value) {
  AppendHead(text, name, type, help);
  fmt::format_to(std::back_inserter(text), "{} {}\n", name, value);
}

}  // namespace

void Metrics::Record(const RequestSample& sample) {
  const std::lock_guard lock(mutex_);
  Operation& operation = operations_[sample.operation];
  ++operation.by_status[sample.status];
  ++operation.count;
  operation.seconds += sample.seconds;
  operation.bytes_in += sample.bytes_in;
  operation.bytes_out += sample.bytes_out;
  const auto bound = std::ranges::lower_bound(kBounds, sample.seconds);
  ++operation.buckets[static_cast<size_t>(bound - kBounds.begin())];
}

void Metrics::CountFault(const std::string& fault, const std::string& operation) {
  const std::lock_guard lock(mutex_);
  ++faults_[{fault, operation}];
}

std::string Metrics::Render(const http::ServerStats& stats) const {
  const std::lock_guard lock(mutex_);
  std::string text;
  auto out = std::back_inserter(text);
  AppendHead(text, "assay_object_requests_total", "counter", "Requests answered.");
  for (const auto& [name, operation] : operations_) {
    for (const auto& [status, count] : operation.by_status) {
      fmt::format_to(out, "assay_object_requests_total{{operation=\"{}\",status=\"{}\"}} {}\n", name, status, count);
    }
  }
  AppendHead(text, "assay_object_received_bytes_total", "counter", "Bytes of request bodies.");
  for (const auto& [name, operation] : operations_) {
    fmt::format_to(out, "assay_object_received_bytes_total{{operation=\"{}\"}} {}\n", name, operation.bytes_in);
  }
  AppendHead(text, "assay_object_sent_bytes_total", "counter", "Bytes of response bodies.");
  for (const auto& [name, operation] : operations_) {
    fmt::format_to(out, "assay_object_sent_bytes_total{{operation=\"{}\"}} {}\n", name, operation.bytes_out);
  }
  AppendHead(text, "assay_object_request_seconds", "histogram", "From a request's head to the end of its answer.");
  for (const auto& [name, operation] : operations_) {
    int64_t below = 0;
    for (size_t i = 0; i < kBounds.size(); ++i) {
      below += operation.buckets[i];
      fmt::format_to(out, "assay_object_request_seconds_bucket{{operation=\"{}\",le=\"{}\"}} {}\n", name, kBounds[i],
                     below);
    }
    fmt::format_to(out,
                   "assay_object_request_seconds_bucket{{operation=\"{0}\",le=\"+Inf\"}} {1}\n"
                   "assay_object_request_seconds_sum{{operation=\"{0}\"}} {2}\n"
                   "assay_object_request_seconds_count{{operation=\"{0}\"}} {1}\n",
                   name, operation.count, operation.seconds);
  }
  AppendHead(text, "assay_object_faults_total", "counter", "Faults injected.");
  for (const auto& [key, count] : faults_) {
    fmt::format_to(out, "assay_object_faults_total{{fault=\"{}\",operation=\"{}\"}} {}\n", key.first, key.second,
                   count);
  }
  AppendValue(text, "assay_object_connections_total", "counter", "Connections accepted.", stats.connections_accepted);
  AppendValue(text, "assay_object_connections_open", "gauge", "Connections open now.", stats.connections_open);
  AppendValue(text, "assay_object_network_received_bytes_total", "counter", "Bytes received, heads included.",
              stats.bytes_received);
  AppendValue(text, "assay_object_network_sent_bytes_total", "counter", "Bytes sent, heads included.",
              stats.bytes_sent);
  AppendValue(text, "assay_object_malformed_requests_total", "counter", "Requests refused by the parser.",
              stats.malformed_requests);
  return text;
}

}  // namespace assay::objectserver
