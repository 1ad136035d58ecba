//! `DescribeCluster` on a server that works alone.

use perennial_library::{Config, Perennial, Storage};
use perennial_proto::perennial::{DescribeClusterRequest, DescribeClusterResponse};
use perennial_server::CallContext;
use prost::Message;

#[tokio::test(flavor = "multi_thread")]
async fn server_without_a_cluster_has_neither_nodes_nor_cells() {
    let perennial = Perennial::open(Config::new(Storage::Memory)).await.unwrap();
    let request = DescribeClusterRequest {}.encode_to_vec();
    let path = "/perennial.v1.AdminService/DescribeCluster";
    let response =
        perennial.services().call(path, CallContext::in_process(), request.into()).await.unwrap();
    let described = DescribeClusterResponse::decode(response).unwrap();
    assert_eq!(described, DescribeClusterResponse::default());
    perennial.close().await.unwrap();
}
