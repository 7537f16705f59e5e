#!/bin/sh
# What a run leaves that was killed on a fresh machine between writing the configuration of the seed's services and having
# them take it up: the distribution's registry on every address, and a web server that serves nothing of the site.
set -eu
cp -p /etc/docker/registry/config.yml /etc/nginx/conf.d/groundup.conf /root
sed -i -e 's/addr: .*/addr: :5000/' -e '/headers:/,$d' /etc/docker/registry/config.yml
rm /etc/nginx/conf.d/groundup.conf
systemctl restart nginx docker-registry
mv /root/config.yml /etc/docker/registry/
mv /root/groundup.conf /etc/nginx/conf.d/
