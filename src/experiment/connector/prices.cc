#include <optional>

#include "base/yaml.h"
#include "experiment/connector/connector.h"
#include "storage/s3/s3_signer.h"

namespace assay::experiment {
namespace {

/// Whether stores of the scheme are reached at an address that somebody chose, as the store itself would find it.
Result<bool> IsElsewhere(const std::string& scheme, const storage::VariableLookup& variables) {
  ASSAY_ASSIGN_OR_RETURN(const storage::StoreOptions options, storage::LoadStoreOptions(scheme, "", variables));
  if (scheme != "s3" || !options.endpoint.empty()) {
    return !options.endpoint.empty();
  }
  ASSAY_ASSIGN_OR_RETURN(const storage::AwsSettings settings,
                         storage::ResolveAwsSettings(options, {.fetch = {}, .variable = variables, .now = {}}));
  return !settings.endpoint.empty();
}

Status ReadPrice(const YamlNode& node, const char* name, double& price) {
  ASSAY_ASSIGN_OR_RETURN(const YamlNode value, node.Get(name));
  ASSAY_ASSIGN_OR_RETURN(price, value.AsNumber());
  return price >= 0 ? Status::Ok() : value.Error("a price below 0");
}

}  // namespace

Result<std::optional<StorePrices>> PricesOf(const std::string& uri, const std::string& priced_as,
                                            const std::string& share_dir, const storage::VariableLookup& variables) {
  const size_t end = uri.find("://");
  std::string scheme = end == std::string::npos ? "file" : uri.substr(0, end);
  if (scheme == "file") {
    return std::optional<StorePrices>();
  }
  if (priced_as == kByScheme) {
    ASSAY_ASSIGN_OR_RETURN(const bool is_elsewhere, IsElsewhere(scheme, variables));
    if (is_elsewhere) {
      return std::optional<StorePrices>();
    }
  } else {
    scheme = priced_as;
  }
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
