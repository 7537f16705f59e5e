module groundup.cloud/dep-check

go 1.24
