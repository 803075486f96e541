#include <algorithm>
#include <optional>

#include "base/yaml.h"
#include "experiment/connector/connector.h"

namespace assay::experiment {
namespace {

/// By which people say that a store is not the provider's own.
constexpr const char* kEndpointVariables[] = {"ASSAY_STORAGE_ENDPOINT", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL",
                                              "OCI_CLI_ENDPOINT"};

Status ReadPrice(const YamlNode& node, const char* name, double& price) {
  ASSAY_ASSIGN_OR_RETURN(const YamlNode value, node.Get(name));
  ASSAY_ASSIGN_OR_RETURN(price, value.AsNumber());
  return price >= 0 ? Status::Ok() : value.Error("a price below 0");
}

}  // namespace

Result<std::optional<StorePrices>> PricesOf(const std::string& uri, const std::string& priced_as,
                                            const std::string& share_dir,
                                            const std::function<const char*(const char*)>& variables) {
  const size_t end = uri.find("://");
  std::string scheme = end == std::string::npos ? "file" : uri.substr(0, end);
  const bool is_elsewhere = std::ranges::any_of(kEndpointVariables, [&](const char* name) { return variables(name); });
  if (scheme == "file" || (priced_as == kByScheme && is_elsewhere)) {
    return std::optional<StorePrices>();
  }
  scheme = priced_as == kByScheme ? scheme : priced_as;
  ASSAY_ASSIGN_OR_RETURN(const YamlNode file, YamlNode::ReadFile(share_dir + "/prices/object-storage.yaml"));
  if (!file.Has(scheme)) {
    return std::optional<StorePrices>();
  }
  StorePrices prices;
  ASSAY_ASSIGN_OR_RETURN(const YamlNode as_of, file.Get("as_of"));
  ASSAY_ASSIGN_OR_RETURN(prices.as_of, as_of.AsText());
  ASSAY_ASSIGN_OR_RETURN(const YamlNode of_scheme, file.Get(scheme));
  ASSAY_RETURN_IF_ERROR(of_scheme.CheckKeys({"thousand_reads", "thousand_writes", "gigabyte_month"}));
  ASSAY_RETURN_IF_ERROR(ReadPrice(of_scheme, "thousand_reads", prices.thousand_reads));
  ASSAY_RETURN_IF_ERROR(ReadPrice(of_scheme, "thousand_writes", prices.thousand_writes));
  ASSAY_RETURN_IF_ERROR(ReadPrice(of_scheme, "gigabyte_month", prices.gigabyte_month));
  return std::optional(prices);
}

}  // namespace assay::experiment
